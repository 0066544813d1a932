// Speed of the matrix kernels beside what the memory gives. Every packing is first compared with
// the scalar kernels bit for bit; then the figures: bytes of weights read a second (with few rows
// the limit is memory), floating-point operations a second (with many it is the vector units), and
// a plain read of the same weights, timed between the rounds of the same line.
//
//   linear_bench [THREADS [ISA [WHAT]]]     WHAT: a packing ("Q4_1", "BF16-f32"), "small", or all
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "device/cpu/kernels.h"
#include "device/cpu/linear.h"
#include "device/cpu/packed_linear.h"
#include "device/testing/test_tensors.h"

namespace lockstep::device::cpu {
namespace {

struct Type {
  const char* name;
  DType dtype;
  Arithmetic arithmetic;
};

constexpr Type kTypes[] = {
    {"Q4_0", DType::kQ4_0, Arithmetic::kInt8},     {"Q4_1", DType::kQ4_1, Arithmetic::kInt8},
    {"Q4_K", DType::kQ4_K, Arithmetic::kInt8},     {"Q6_K", DType::kQ6_K, Arithmetic::kInt8},
    {"Q8_0", DType::kQ8_0, Arithmetic::kInt8},     {"Q5_0", DType::kQ5_0, Arithmetic::kInt8},
    {"Q5_1", DType::kQ5_1, Arithmetic::kInt8},     {"Q2_K", DType::kQ2_K, Arithmetic::kInt8},
    {"Q3_K", DType::kQ3_K, Arithmetic::kInt8},     {"Q5_K", DType::kQ5_K, Arithmetic::kInt8},
    {"IQ4_NL", DType::kIQ4_NL, Arithmetic::kInt8}, {"IQ4_XS", DType::kIQ4_XS, Arithmetic::kInt8},
    {"MXFP4", DType::kMXFP4, Arithmetic::kInt8},   {"BF16", DType::kBF16, Arithmetic::kBF16},
    {"BF16-f32", DType::kBF16, Arithmetic::kF32},  {"F16", DType::kF16, Arithmetic::kF32},
    {"F32", DType::kF32, Arithmetic::kF32},
};

uint32_t hash(uint32_t x) {
  x = (x ^ (x >> 16)) * 0x85ebca6bu;
  x = (x ^ (x >> 13)) * 0xc2b2ae35u;
  return x ^ (x >> 16);
}

// Values of ordinary size: f16 scales and bf16 around 1, nothing denormal.
std::vector<std::byte> make_weight(DType dtype, int64_t outputs, int64_t inputs) {
  const DTypeInfo& info = dtype_info(dtype);
  std::vector<std::byte> bytes(dtype_bytes(dtype, static_cast<uint64_t>(outputs * inputs)).value());
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(hash(i));
  const auto put = [&](size_t at, auto value) { std::memcpy(&bytes[at], &value, sizeof value); };
  const auto step = static_cast<size_t>(info.block_bytes);
  for (size_t at = 0; at < bytes.size(); at += step) {
    const uint32_t bits = hash(static_cast<uint32_t>(at));
    const auto f16 = static_cast<uint16_t>(0x3800u | (bits & 0x83ffu));
    switch (dtype) {
      case DType::kF32:
        put(at, 0x3f000000u | (bits & 0x807fffffu));
        break;
      case DType::kBF16:
        put(at, static_cast<uint16_t>(0x3f00u | (bits & 0x807fu)));
        break;
      case DType::kMXFP4:
        put(at, static_cast<uint8_t>(127));
        break;
      default:
        for (const int scale : contract::f16_offsets(dtype)) {
          put(at + static_cast<size_t>(scale), f16);
        }
    }
  }
  return bytes;
}

std::vector<float> make_rows(int rows, int64_t inputs) {
  std::vector<float> x(static_cast<size_t>(rows * inputs));
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = std::bit_cast<float>(0x3f000000u | (hash(static_cast<uint32_t>(i)) & 0x807fffffu));
  }
  return x;
}

using Plans = std::vector<std::unique_ptr<LinearPlan>>;

std::unique_ptr<LinearPlan> make_plan(const Type& type, int64_t outputs, int64_t inputs,
                                      ThreadPool& pool, PackedArena& arena) {
  const std::vector<std::byte> bytes = make_weight(type.dtype, outputs, inputs);
  const LinearWeight weight = {{type.dtype, {outputs, inputs}, bytes}, {}};
  auto plan = pack_linear(std::span(&weight, 1), type.arithmetic, pool, arena);
  LOCKSTEP_CHECK(plan.ok());
  return std::move(plan).value();
}

double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + v.size() / 2, v.end());
  return v[v.size() / 2];
}

class Bench {
 public:
  Bench(const Kernels& kernels, int threads) : kernels_(kernels), pool_(threads) {}

  // The same bits as the scalar kernels, on an odd number of outputs and rows.
  void check(const Type& type) {
    constexpr int kRows = 7;
    constexpr int64_t kOutputs = 45;
    const auto plan = make_plan(type, kOutputs, 768, pool_, arena_);
    const std::vector<float> x = make_rows(kRows, 768);
    std::vector<float> got(kRows * kOutputs);
    std::vector<float> want(got.size());
    run(kernels_, *plan, x, got, kRows);
    run(kKernels_scalar, *plan, x, want, kRows);
    LOCKSTEP_CHECK(std::memcmp(got.data(), want.data(), got.size() * sizeof(float)) == 0);
  }

  // All plans in turn, so that weights come from beyond the caches.
  void time(const std::string& name, const Plans& plans, int rows) {
    int64_t most_inputs = 0;
    int64_t most_outputs = 0;
    double bytes = 0;
    double flops = 0;
    for (const auto& plan : plans) {
      most_inputs = std::max(most_inputs, plan->inputs());
      most_outputs = std::max(most_outputs, plan->outputs());
      bytes += static_cast<double>(plan->bytes());
      flops += 2.0 * rows * static_cast<double>(plan->inputs() * plan->outputs());
    }
    const std::vector<float> x = make_rows(rows, most_inputs);
    std::vector<float> out(static_cast<size_t>(rows * most_outputs));
    std::vector<double> times;
    std::vector<double> reads;
    for (double spent = 0; spent < kSecondsALine || times.size() < 3;) {
      reads.push_back(seconds([&] { read(plans); }));
      times.push_back(seconds([&] {
        for (const auto& plan : plans) run(kernels_, *plan, x, out, rows);
      }));
      spent += reads.back() + times.back();
    }
    const double t = median(times);
    const double speed = bytes / t * 1e-9;
    const double probe = bytes / median(reads) * 1e-9;
    std::printf("%-20s %4d rows %9.1f us a call %6.1f GB/s %6.0f GFLOP/s   read %5.1f  %3.0f %%\n",
                name.c_str(), rows, t / static_cast<double>(plans.size()) * 1e6, speed,
                flops / t * 1e-9, probe, 100 * speed / probe);
    std::fflush(stdout);
  }

  ThreadPool& pool() { return pool_; }

 private:
  static constexpr double kSecondsALine = 0.5;

  void run(const Kernels& kernels, const LinearPlan& plan, const std::vector<float>& x,
           std::vector<float>& out, int rows) {
    run_linear(kernels.linear, pool_, scratch_, plan, x.data(), plan.inputs(), out.data(),
               plan.outputs(), rows);
  }

  // Every word of all weights, 64 KB a task.
  void read(const Plans& plans) {
    constexpr int64_t kTaskBytes = 64 << 10;
    for (const auto& plan : plans) {
      const std::byte* data = static_cast<const PackedLinear&>(*plan).segments()[0].data;
      pool_.run((plan->bytes() + kTaskBytes - 1) / kTaskBytes, [&](int64_t i, int) {
        const auto* word = reinterpret_cast<const uint64_t*>(data + i * kTaskBytes);
        const int64_t words = std::min(kTaskBytes, plan->bytes() - i * kTaskBytes) / 8;
        uint64_t sum = 0;
        for (int64_t w = 0; w < words; ++w) sum += word[w];
        sink_ = sum;
      });
    }
  }

  const Kernels& kernels_;
  ThreadPool pool_;
  PackedArena arena_;
  LinearScratch scratch_;
  volatile uint64_t sink_ = 0;
};

const Kernels* kernels_named(std::string_view isa) {
  for (const Kernels* k : {&kKernels_scalar, &kKernels_avx2, &kKernels_avx512,
                           &kKernels_avx512_vnni, &kKernels_avx512_bf16}) {
    if (isa == k->isa) return k;
  }
  return nullptr;
}

// The matrices of one step of SmolLM2-135M in Q4_1, in order: what a small model pays for calls.
Plans make_small_model(ThreadPool& pool, PackedArena& arena) {
  constexpr Type kLayer = {"Q4_1", DType::kQ4_1, Arithmetic::kInt8};
  Plans plans;
  for (int layer = 0; layer < 30; ++layer) {
    plans.push_back(make_plan(kLayer, 576 + 2 * 192, 576, pool, arena));
    plans.push_back(make_plan(kLayer, 576, 576, pool, arena));
    plans.push_back(make_plan(kLayer, 2 * 1536, 576, pool, arena));
    plans.push_back(make_plan(kLayer, 576, 1536, pool, arena));
  }
  plans.push_back(make_plan({"Q8_0", DType::kQ8_0, Arithmetic::kInt8}, 49152, 576, pool, arena));
  return plans;
}

void run_bench(int threads, const Kernels& kernels, std::string_view only) {
  constexpr int64_t kBytes = 128 << 20;  // in turn, so beyond any level-3 cache
  constexpr int kRows[] = {1, 2, 4, 8, 16, 64, 512};
  Bench bench(kernels, threads);
  std::printf("%s, %d threads; read: every byte of the same weights, in the same seconds\n",
              kernels.isa, threads);
  for (const Type& type : kTypes) {
    if (!only.empty() && only != type.name) continue;
    bench.check(type);
    PackedArena arena;
    Plans plans;
    for (int64_t bytes = 0; bytes < kBytes; bytes += plans.back()->bytes()) {
      plans.push_back(make_plan(type, 8192, 2048, bench.pool(), arena));
    }
    for (const int rows : kRows) bench.time(std::string(type.name) + " 8192 x 2048", plans, rows);
  }
  if (!only.empty() && only != "small") return;
  PackedArena arena;
  const Plans plans = make_small_model(bench.pool(), arena);
  for (const int rows : kRows) bench.time("small model, Q4_1", plans, rows);
}

}  // namespace
}  // namespace lockstep::device::cpu

int main(int argc, char** argv) {
  using namespace lockstep::device::cpu;
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const Kernels* kernels = kernels_named(argc > 2 ? argv[2] : "avx512_bf16");
  if (threads < 1 || kernels == nullptr) {
    std::fprintf(stderr, "usage: linear_bench [THREADS [ISA [WHAT]]]\n");
    return 2;
  }
  run_bench(threads, *kernels, argc > 3 ? argv[3] : "");
  return 0;
}
