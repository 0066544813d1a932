// Speed of attention. The kernels are first compared with the scalar ones bit for bit; then, for
// two models' heads and each K/V type, a layer's time, median and best: one row on 512 and on 4,096
// keys, every layer of the model in turn so that K and V come from where they do in a real step,
// and 512 rows at once, at position 0 and after 3,584 others.
//
//   attention_bench [THREADS [ISA]]      attention_bench 2 avx512_bf16
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "base/status.h"
#include "device/cpu/attention.h"
#include "device/cpu/isa.h"
#include "device/cpu/page_pool.h"

namespace lockstep::device::cpu {
namespace {

constexpr double kSecondsALine = 0.6;
constexpr int kPositions = 4096;
constexpr int kPrefillRows = 512;

struct Model {
  const char* name;
  int layers;
  int heads;
  int kv_heads;
  int head_size;
};
constexpr Model kModels[] = {{"135M: 9 heads, 3 K/V heads of 64", 30, 9, 3, 64},
                             {"1B: 32 heads, 8 K/V heads of 64", 16, 32, 8, 64}};

std::vector<float> numbers(uint64_t seed, int count) {
  CounterRng rng(seed);
  std::vector<float> out(static_cast<size_t>(count));
  for (float& x : out) x = static_cast<float>(rng.between(-1 << 20, 1 << 20)) * 0x1p-20f;
  return out;
}

class Bench {
 public:
  Bench(const Kernels& kernels, const Model& model, KvType type, int threads)
      : kernels_(kernels.attention.kv[static_cast<size_t>(type)]),
        model_(model),
        pool_(threads),
        q_(numbers(1, kPrefillRows * width())),
        out_(q_.size()) {
    StateLayout layout;
    layout.groups.push_back({.layers = model.layers,
                             .kv_heads = model.kv_heads,
                             .k_head_size = model.head_size,
                             .v_head_size = model.head_size});
    pages_ = std::move(
        CpuPagePool::create(layout, std::vector<int>{kPositions / kPagePositions}, type).value());
    for (int i = 0; i < kPositions / kPagePositions; ++i) table_.push_back(i);
    const std::vector<float> kv = numbers(2, model.kv_heads * model.head_size + kPositions);
    for (int layer = 0; layer < model.layers; ++layer) {
      for (int p = 0; p < kPositions; ++p) {
        kernels_.append(pages_->pages_of({0, layer}), p / kPagePositions, p % kPagePositions,
                        kv.data() + p, kv.data() + kPositions - p);
      }
    }
  }

  // The outputs of one layer's rows [first, first + rows).
  const std::vector<float>& attend(int layer, int first, int rows) {
    const AttendJob job = {.pages = pages_->pages_of({0, layer}),
                           .page_table = table_.data(),
                           .first_position = first,
                           .rows = rows,
                           .window = 0,
                           .group_size = model_.heads / model_.kv_heads,
                           .scale = 0.125f,
                           .soft_cap = 0.0f,
                           .q = q_.data(),
                           .q_stride = width(),
                           .out = out_.data(),
                           .out_stride = width()};
    run_attention(kernels_, pool_, scratch_, {&job, 1});
    return out_;
  }

  void time(const char* what, int layers, int first, int rows) {
    std::vector<double> times;
    for (double spent = 0; spent < kSecondsALine || times.size() < 5; spent += times.back()) {
      const auto start = std::chrono::steady_clock::now();
      for (int layer = 0; layer < layers; ++layer) attend(layer, first, rows);
      const auto end = std::chrono::steady_clock::now();
      times.push_back(std::chrono::duration<double>(end - start).count());
    }
    std::sort(times.begin(), times.end());
    const double seconds = times[times.size() / 2] / layers;
    double keys = 0;
    for (int r = 0; r < rows; ++r) keys += first + r + 1;
    const KvPages pages = pages_->pages_of({0, 0});
    const double bytes = static_cast<double>(first + rows) / kPageKeys *
                         static_cast<double>(pages.head_bytes * pages.kv_heads);
    std::printf("  %-18s %9.1f us (best %9.1f)  %5.1f GB/s of K/V  %6.1f GFLOP/s\n", what,
                seconds * 1e6, times.front() / layers * 1e6, bytes / seconds * 1e-9,
                keys * 4 * width() / seconds * 1e-9);
  }

 private:
  int width() const { return model_.heads * model_.head_size; }

  const KvKernels& kernels_;
  const Model& model_;
  ThreadPool pool_;
  AttentionScratch scratch_;
  std::unique_ptr<CpuPagePool> pages_;
  std::vector<int32_t> table_;
  std::vector<float> q_;
  std::vector<float> out_;
};

void check(const Kernels& kernels, KvType type, int threads) {
  const Model model = {"", 1, 6, 2, 64};
  Bench native(kernels, model, type, threads);
  Bench scalar(kKernels_scalar, model, type, 1);
  for (const auto& [first, rows] : {std::pair{200, 70}, {700, 1}}) {
    const std::vector<float>& got = native.attend(0, first, rows);
    const std::vector<float>& want = scalar.attend(0, first, rows);
    LOCKSTEP_CHECK(std::memcmp(got.data(), want.data(), got.size() * sizeof(float)) == 0);
  }
}

int run(int threads, std::string_view isa) {
  const StatusOr<const Kernels*> kernels = find_kernels(isa);
  if (!kernels.ok()) {
    std::fprintf(stderr, "%s\n", message_of(kernels.status()).c_str());
    return 2;
  }
  const ComputeScope scope;
  for (const Model& model : kModels) {
    for (const KvType type : {KvType::kBF16, KvType::kF16, KvType::kF32}) {
      check(**kernels, type, threads);
      fmt::print("{}, K/V {}, {}, {} threads\n", model.name, kv_type_name(type), (*kernels)->isa,
                 threads);
      Bench bench(**kernels, model, type, threads);
      bench.time("1 row, 512 keys", model.layers, 511, 1);
      bench.time("1 row, 4096 keys", model.layers, kPositions - 1, 1);
      bench.time("512 rows at 0", 1, 0, kPrefillRows);
      bench.time("512 rows at 3584", 1, kPositions - kPrefillRows, kPrefillRows);
    }
  }
  return 0;
}

}  // namespace
}  // namespace lockstep::device::cpu

int main(int argc, char** argv) {
  return lockstep::device::cpu::run(argc > 1 ? std::atoi(argv[1]) : 2, argc > 2 ? argv[2] : "");
}
