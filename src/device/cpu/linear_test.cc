// Every packed type on every instruction set that this CPU runs, against the definition in
// docs/numerics.md written row-major and naively, bit for bit.
#include "device/cpu/linear.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/float16.h"
#include "device/cpu/kernels.h"
#include "device/linear_rule.h"
#include "device/quant_blocks.h"
#include "device/testing/test_tensors.h"

namespace lockstep::device::cpu {
namespace {

// ---- Inputs, from integers.

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint32_t bits() {  // splitmix64
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<uint32_t>(z >> 32);
  }
  uint32_t below(uint32_t n) { return bits() % n; }

 private:
  uint64_t state_;
};

enum class Values { kOrdinary, kCancelling, kTiny, kWild };

float from_bits(uint32_t bits) { return std::bit_cast<float>(bits); }

float draw(Random& random, Values values) {
  const uint32_t sign_and_mantissa = random.bits() & 0x807fffffu;
  switch (values) {
    case Values::kOrdinary:  // 2^-4 to 2^4
      return from_bits(sign_and_mantissa | ((123 + random.below(8)) << 23));
    case Values::kCancelling:  // a few magnitudes far apart, so that sums lose and cancel
      return from_bits((sign_and_mantissa & 0x80000000u) | ((127 + 12 * random.below(3)) << 23));
    case Values::kTiny:  // zeros, denormals and numbers whose products are denormal
      return from_bits(sign_and_mantissa | (random.below(3) * 31 << 23));
    case Values::kWild: {  // one in 64 is infinite, NaN or huge
      constexpr uint32_t kRare[] = {0x7f800000, 0xff800000, 0x7fc00000, 0x7f7fffff, 0x7fa00000};
      if (random.below(64) == 0) return from_bits(kRare[random.below(5)]);
      return from_bits(sign_and_mantissa | ((100 + random.below(60)) << 23));
    }
  }
  return 0.0f;
}

uint16_t draw_f16(Random& random, Values values) {
  const uint32_t sign_and_mantissa = random.bits() & 0x83ffu;
  switch (values) {
    case Values::kOrdinary:
      return static_cast<uint16_t>(sign_and_mantissa | ((11 + random.below(8)) << 10));
    case Values::kCancelling:
      return static_cast<uint16_t>((sign_and_mantissa & 0x8000u) | (15u << 10));
    case Values::kTiny:  // zeros and denormals
      return static_cast<uint16_t>(random.below(4) == 0 ? 0 : sign_and_mantissa);
    case Values::kWild:
      if (random.below(64) == 0) return random.below(2) == 0 ? 0x7c00 : 0x7e00;
      return static_cast<uint16_t>(sign_and_mantissa | (random.below(31) << 10));
  }
  return 0;
}

// Of MXFP4: 128 is a scale of 1.
uint8_t draw_exponent(Random& random, Values values) {
  switch (values) {
    case Values::kOrdinary:
      return static_cast<uint8_t>(124 + random.below(8));
    case Values::kCancelling:
      return static_cast<uint8_t>(122 + 12 * random.below(2));
    case Values::kTiny:  // 0 and 1 are denormal scales
      return static_cast<uint8_t>(random.below(4));
    case Values::kWild:
      return static_cast<uint8_t>(random.bits());
  }
  return 0;
}

// A [outputs, inputs] weight and the bytes behind it.
struct Weight {
  TensorView view;
  std::vector<std::byte> bytes;

  Weight(DType dtype, int64_t outputs, int64_t inputs, Values values, uint64_t seed) {
    const auto elements = static_cast<uint64_t>(outputs * inputs);
    bytes.resize(dtype_bytes(dtype, elements).value());
    view = {dtype, {outputs, inputs}, bytes};
    Random random(seed);
    const DTypeInfo& info = dtype_info(dtype);
    for (size_t at = 0; at < bytes.size(); at += static_cast<size_t>(info.block_bytes)) {
      fill_block(info, &bytes[at], random, values);
    }
  }

  void fill_all_but_scales(uint8_t value) {
    const DTypeInfo& info = dtype_info(view.dtype);
    const std::vector<std::byte> before = bytes;
    std::memset(bytes.data(), value, bytes.size());
    for (size_t at = 0; at < bytes.size(); at += static_cast<size_t>(info.block_bytes)) {
      for (const int scale : contract::f16_offsets(info.dtype)) {
        std::memcpy(&bytes[at + static_cast<size_t>(scale)],
                    &before[at + static_cast<size_t>(scale)], 2);
      }
      if (info.dtype == DType::kMXFP4) bytes[at] = before[at];
    }
  }

 private:
  static void fill_block(const DTypeInfo& info, std::byte* block, Random& random, Values values) {
    if (info.dtype == DType::kF32) return put(block, 0, draw(random, values));
    if (info.dtype == DType::kF16) return put(block, 0, draw_f16(random, values));
    if (info.dtype == DType::kBF16) {
      return put(block, 0,
                 static_cast<uint16_t>(std::bit_cast<uint32_t>(draw(random, values)) >> 16));
    }
    for (int i = 0; i < info.block_bytes; ++i) put(block, i, static_cast<uint8_t>(random.bits()));
    for (const int at : contract::f16_offsets(info.dtype)) {
      put(block, at, draw_f16(random, values));
    }
    if (info.dtype == DType::kMXFP4) put(block, 0, draw_exponent(random, values));
  }
  template <class T>
  static void put(std::byte* block, int at, T value) {
    std::memcpy(block + at, &value, sizeof value);
  }
};

std::vector<float> make_rows(int rows, int64_t inputs, Values values, uint64_t seed) {
  Random random(seed);
  std::vector<float> x(static_cast<size_t>(rows * inputs));
  for (float& v : x) v = draw(random, values);
  return x;
}

// ---- The definition. Runs under ComputeScope.

struct Quantised {
  int q[32];
  float d;
};

Quantised quant32(const float* x) {
  Quantised b = {};
  uint32_t m = 0;
  for (int i = 0; i < 32; ++i) m = std::max(m, std::bit_cast<uint32_t>(x[i]) & 0x7fffffffu);
  if (m >= 0x7f800000u) {
    b.d = std::nanf("");
    return b;
  }
  if (from_bits(m) < 0x1p-100f) return b;
  b.d = from_bits(m) / 127.0f;
  const float scale = 127.0f / from_bits(m);
  for (int i = 0; i < 32; ++i) b.q[i] = static_cast<int>(std::nearbyint(x[i] * scale));
  return b;
}

float block_term(DType dtype, const QuantGroup& w, const Quantised& a, float acc) {
  int dot[2] = {0, 0};
  int sum[2] = {0, 0};
  for (int i = 0; i < 32; ++i) {
    dot[i / 16] += w.codes[static_cast<size_t>(i)] * a.q[i];
    sum[i / 16] += a.q[i];
  }
  switch (dtype) {
    case DType::kQ2_K:
    case DType::kQ3_K:
    case DType::kQ6_K: {
      const int s = w.sc[0] * dot[0] + w.sc[1] * dot[1];
      acc = std::fma(static_cast<float>(s), w.d * a.d, acc);
      if (dtype != DType::kQ2_K) return acc;
      const int t = w.mn[0] * sum[0] + w.mn[1] * sum[1];
      return std::fma(static_cast<float>(t), -(w.m * a.d), acc);
    }
    case DType::kQ4_K:
    case DType::kQ5_K:
    case DType::kIQ4_XS:
      acc = std::fma(static_cast<float>(dot[0] + dot[1]), (w.d * static_cast<float>(w.sc[0])) * a.d,
                     acc);
      if (dtype == DType::kIQ4_XS) return acc;
      return std::fma(-(w.m * static_cast<float>(w.mn[0])),
                      a.d * static_cast<float>(sum[0] + sum[1]), acc);
    case DType::kQ4_1:
    case DType::kQ5_1:
      acc = std::fma(static_cast<float>(dot[0] + dot[1]), w.d * a.d, acc);
      return std::fma(w.m, a.d * static_cast<float>(sum[0] + sum[1]), acc);
    default:
      return std::fma(static_cast<float>(dot[0] + dot[1]), w.d * a.d, acc);
  }
}

float bf16(float x) { return f32_from_bf16(bf16_from_f32(x)); }

// One slice of one output: elements [k, end) of row n of the weight with x.
float slice_chain(LinearRule rule, const TensorView& weight, const std::vector<float>& row,
                  const float* x, int64_t n, int64_t k, int64_t end) {
  float acc = 0.0f;
  if (rule == LinearRule::kF32) {
    for (; k < end; ++k) acc = std::fma(x[k], row[static_cast<size_t>(k)], acc);
  } else if (rule == LinearRule::kBF16) {
    for (; k < end; k += 2) {
      const bool whole = k + 1 < end;
      acc = std::fma(whole ? bf16(x[k + 1]) : 0.0f,
                     whole ? bf16(row[static_cast<size_t>(k + 1)]) : 0.0f, acc);
      acc = std::fma(bf16(x[k]), bf16(row[static_cast<size_t>(k)]), acc);
    }
  } else {
    const auto row_bytes = weight.bytes.size() / static_cast<size_t>(weight.shape[0]);
    const std::byte* bytes = weight.bytes.data() + static_cast<size_t>(n) * row_bytes;
    for (; k < end; k += 32) {
      acc =
          block_term(weight.dtype, unpack_group(weight.dtype, bytes, k / 32), quant32(x + k), acc);
    }
  }
  return acc;
}

// What quant32 leaves of each block of a row.
std::vector<float> remainder_of(const float* x, int64_t inputs) {
  std::vector<float> rest(x, x + inputs);
  for (int64_t k = 0; k < inputs; k += 32) {
    const Quantised block = quant32(x + k);
    for (int64_t i = 0; i < 32; ++i) {
      float& r = rest[static_cast<size_t>(k + i)];
      r = std::fma(-static_cast<float>(block.q[i]), block.d, r);
    }
  }
  return rest;
}

// [rows, outputs]
std::vector<float> define(Arithmetic arithmetic, const TensorView& weight,
                          const std::vector<float>& x, int rows) {
  const ComputeScope scope;
  const LinearRule rule = linear_rule(arithmetic, weight);
  const int64_t outputs = weight.shape[0];
  const int64_t inputs = weight.shape[1];
  std::vector<float> out(static_cast<size_t>(rows * outputs));
  std::vector<float> row(static_cast<size_t>(inputs));
  std::vector<std::vector<float>> rest;
  for (int r = 0; r < rows && rule == LinearRule::kInt8; ++r) {
    rest.push_back(remainder_of(x.data() + r * inputs, inputs));
  }
  const auto row_bytes = weight.bytes.size() / static_cast<size_t>(outputs);
  for (int64_t n = 0; n < outputs; ++n) {
    dequantise(weight.dtype, weight.bytes.data() + static_cast<size_t>(n) * row_bytes, row);
    for (int r = 0; r < rows; ++r) {
      const float* in = x.data() + r * inputs;
      const auto total_of = [&](const float* activations) {
        float total = 0.0f;
        for (int64_t k = 0; k < inputs; k += 512) {
          const float slice =
              slice_chain(rule, weight, row, activations, n, k, std::min(inputs, k + 512));
          total = k == 0 ? slice : total + slice;
        }
        return total;
      };
      float& result = out[static_cast<size_t>(r * outputs + n)];
      result = total_of(in);
      if (rule == LinearRule::kInt8) result += total_of(rest[static_cast<size_t>(r)].data());
    }
  }
  return out;
}

// ---- What is tested.

std::vector<const Kernels*> runnable_kernels() {
  std::vector<const Kernels*> all = {&kKernels_scalar};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    all.push_back(&kKernels_avx2);
  }
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    all.push_back(&kKernels_avx512);
    if (__builtin_cpu_supports("avx512vnni")) all.push_back(&kKernels_avx512_vnni);
    if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bf16")) {
      all.push_back(&kKernels_avx512_bf16);
    }
  }
  return all;
}

bool same_bits(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || (a != a && b != b);
}

std::unique_ptr<LinearPlan> pack(std::vector<LinearWeight> stacked, Arithmetic arithmetic,
                                 ThreadPool& pool) {
  PackedArena arena;  // a plan may outlive it
  auto plan = pack_linear(stacked, arithmetic, pool, arena);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return std::move(plan).value();
}

// [rows, outputs], after checking that nothing was written past the outputs of a row.
std::vector<float> multiply(const Kernels& kernels, ThreadPool& pool, const LinearPlan& plan,
                            const std::vector<float>& x, int rows) {
  const int64_t outputs = plan.outputs();
  const int64_t stride = outputs + 3;
  constexpr float kUntouched = 12345.0f;
  std::vector<float> padded(static_cast<size_t>(rows * stride), kUntouched);
  LinearScratch scratch;
  run_linear(kernels.linear, pool, scratch, plan, x.data(), plan.inputs(), padded.data(), stride,
             rows);
  std::vector<float> out;
  for (int r = 0; r < rows; ++r) {
    const auto row = padded.begin() + r * stride;
    out.insert(out.end(), row, row + outputs);
    for (int64_t n = outputs; n < stride; ++n) EXPECT_EQ(row[n], kUntouched) << "row " << r;
  }
  return out;
}

// Compares [rows, outputs] with the leading rows and outputs of [more rows, `want_outputs`].
void expect_same(const std::vector<float>& got, int64_t outputs, const std::vector<float>& want,
                 int64_t want_outputs, const std::string& what) {
  for (size_t i = 0; i < got.size(); ++i) {
    const size_t row = i / static_cast<size_t>(outputs);
    const size_t n = i % static_cast<size_t>(outputs);
    const float expected = want[row * static_cast<size_t>(want_outputs) + n];
    ASSERT_TRUE(same_bits(got[i], expected))
        << what << ": row " << row << " output " << n << ": " << got[i] << " is not " << expected;
  }
}

struct Matrix {
  DType dtype;
  Arithmetic arithmetic;
};

void PrintTo(const Matrix& m, std::ostream* out) { *out << dtype_name(m.dtype); }

std::string name_of(const testing::TestParamInfo<Matrix>& info) {
  constexpr const char* kNames[] = {"f32", "bf16", "int8"};
  return std::string(dtype_name(info.param.dtype)) + "_" +
         kNames[static_cast<size_t>(info.param.arithmetic)];
}

class LinearTest : public testing::TestWithParam<Matrix> {
 protected:
  DType dtype() const { return GetParam().dtype; }
  Arithmetic arithmetic() const { return GetParam().arithmetic; }

  // Every instruction set, at these sizes; a row or an output must not depend on how many others
  // there are, so one definition serves them all.
  void expect_defined_bits(int64_t inputs, const std::vector<int64_t>& outputs,
                           const std::vector<int>& rows, Values values) {
    const int64_t most_outputs = *std::max_element(outputs.begin(), outputs.end());
    const int most_rows = *std::max_element(rows.begin(), rows.end());
    const auto seed = static_cast<uint64_t>(inputs);
    const Weight weight(dtype(), most_outputs, inputs, values, seed);
    const std::vector<float> x = make_rows(most_rows, inputs, values, seed + 1);
    const std::vector<float> want = define(arithmetic(), weight.view, x, most_rows);
    for (const int64_t n : outputs) {
      TensorView view = weight.view;
      view.shape[0] = n;
      view.bytes = view.bytes.first(view.bytes.size() / static_cast<size_t>(most_outputs) *
                                    static_cast<size_t>(n));
      const auto plan = pack({{view, {}}}, arithmetic(), pool_);
      for (const Kernels* kernels : runnable_kernels()) {
        for (const int r : rows) {
          const std::string what =
              fmt::format("{}, {} inputs, {} outputs, {} rows", kernels->isa, inputs, n, r);
          expect_same(multiply(*kernels, pool_, *plan, x, r), n, want, most_outputs, what);
        }
      }
    }
  }

  std::vector<int64_t> legal(const std::vector<int64_t>& inputs) const {
    std::vector<int64_t> result;
    for (const int64_t k : inputs) {
      if (k % dtype_info(dtype()).block_elements == 0) result.push_back(k);
    }
    return result;
  }

  ThreadPool pool_{2};
};

TEST_P(LinearTest, EveryLengthHasTheDefinedBits) {
  for (const int64_t k : legal({1,   2,   3,   31,  32,  33,   64,   96,   256,  511,
                                512, 513, 544, 577, 768, 1024, 1055, 1280, 1536, 2048})) {
    expect_defined_bits(k, {33}, {1, 4, 7}, Values::kOrdinary);
  }
}

TEST_P(LinearTest, EveryRowAndOutputCountHasTheDefinedBits) {
  const int64_t inputs = legal({577, 544, 768}).front();
  expect_defined_bits(inputs, {1, 5, 31, 32, 33, 100},
                      {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 17, 64}, Values::kOrdinary);
}

TEST_P(LinearTest, HardNumbersHaveTheDefinedBits) {
  const int64_t inputs = legal({1055, 1056, 1024}).front();
  for (const Values values : {Values::kCancelling, Values::kTiny, Values::kWild}) {
    expect_defined_bits(inputs, {70}, {1, 6, 40}, values);
  }
}

TEST_P(LinearTest, MoreRowsThanAPanelHoldsHaveTheDefinedBits) {
  expect_defined_bits(legal({64, 256}).front(), {40}, {kMaxPanelRows + 9}, Values::kOrdinary);
}

TEST_P(LinearTest, EmbeddingIsTheValueTimesTheScale) {
  for (const Values values : {Values::kOrdinary, Values::kTiny}) {
    const int64_t inputs = legal({577, 544, 768}).front();
    const Weight table(dtype(), 70, inputs, values, 5);
    const auto plan = pack({{table.view, {}}}, arithmetic(), pool_);
    std::vector<float> value(static_cast<size_t>(inputs));
    std::vector<float> got(value.size());
    for (const int32_t id : {0, 31, 32, 69}) {
      const ComputeScope scope;
      const auto row_bytes = static_cast<ptrdiff_t>(table.bytes.size() / 70);
      dequantise(dtype(), table.bytes.data() + id * row_bytes, value);
      embed_row(*plan, id, 1.5f, got.data());
      const bool rounded = linear_rule(arithmetic(), table.view) == LinearRule::kBF16;
      for (size_t k = 0; k < got.size(); ++k) {
        const float expected = 1.5f * (rounded ? bf16(value[k]) : value[k]);
        ASSERT_TRUE(same_bits(got[k], expected)) << "id " << id << " element " << k;
      }
    }
  }
}

std::vector<Matrix> all_matrices() {
  std::vector<Matrix> all = {
      {DType::kF32, Arithmetic::kF32},    {DType::kF16, Arithmetic::kF32},
      {DType::kBF16, Arithmetic::kF32},   {DType::kQ4_1, Arithmetic::kF32},
      {DType::kQ6_K, Arithmetic::kF32},   {DType::kMXFP4, Arithmetic::kF32},
      {DType::kBF16, Arithmetic::kBF16},  {DType::kF32, Arithmetic::kBF16},
      {DType::kF16, Arithmetic::kBF16},   {DType::kQ4_K, Arithmetic::kBF16},
      {DType::kMXFP4, Arithmetic::kBF16}, {DType::kBF16, Arithmetic::kInt8},
      {DType::kF32, Arithmetic::kInt8},
  };
  for (const DType dtype : contract::kBlockTypes) all.push_back({dtype, Arithmetic::kInt8});
  return all;
}

INSTANTIATE_TEST_SUITE_P(AllTypes, LinearTest, testing::ValuesIn(all_matrices()), name_of);

// Codes and activations at the ends of their ranges: where a saturating byte product would show.
TEST(LinearExtremesTest, LargestCodesDoNotSaturate) {
  ThreadPool pool(1);
  for (const DType dtype : contract::kBlockTypes) {
    for (const uint8_t fill : {uint8_t{0x80}, uint8_t{0x7f}, uint8_t{0xff}, uint8_t{0x00}}) {
      Weight weight(dtype, 32, 512, Values::kOrdinary, 1);
      weight.fill_all_but_scales(fill);
      std::vector<float> x(512, 1.0f);
      for (size_t k = 0; k < x.size(); k += 3) x[k] = fill == 0x80 ? -1.0f : 1.0f;
      const std::vector<float> want = define(Arithmetic::kInt8, weight.view, x, 1);
      const auto plan = pack({{weight.view, {}}}, Arithmetic::kInt8, pool);
      for (const Kernels* kernels : runnable_kernels()) {
        expect_same(multiply(*kernels, pool, *plan, x, 1), 32, want, 32,
                    fmt::format("{} {} filled with {}", kernels->isa, dtype_name(dtype), fill));
      }
    }
  }
}

TEST(LinearStackTest, StackingTypesAndBiasesChangesNoOutput) {
  constexpr int kRows = 9;
  constexpr int64_t kInputs = 768;
  const Weight q(DType::kQ4_1, 45, kInputs, Values::kOrdinary, 1);
  const Weight k(DType::kQ6_K, 33, kInputs, Values::kOrdinary, 2);
  const Weight v(DType::kBF16, 7, kInputs, Values::kOrdinary, 3);
  const Weight g(DType::kF32, 64, kInputs, Values::kOrdinary, 4);
  Weight bias(DType::kF16, 1, 33, Values::kOrdinary, 5);
  bias.view.shape = {33};
  const std::vector<float> x = make_rows(kRows, kInputs, Values::kOrdinary, 6);
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    const auto plan = pack({{q.view, {}}, {k.view, bias.view}, {v.view, {}}, {g.view, {}}},
                           Arithmetic::kInt8, pool);
    ASSERT_EQ(plan->outputs(), 45 + 33 + 7 + 64);
    std::vector<float> shift(33);
    dequantise(DType::kF16, bias.bytes.data(), shift);
    for (const Kernels* kernels : runnable_kernels()) {
      const std::vector<float> got = multiply(*kernels, pool, *plan, x, kRows);
      size_t first = 0;
      for (const Weight* part : {&q, &k, &v, &g}) {
        const std::vector<float> want = define(Arithmetic::kInt8, part->view, x, kRows);
        const auto outputs = static_cast<size_t>(part->view.shape[0]);
        for (size_t i = 0; i < want.size(); ++i) {
          const size_t n = i % outputs;
          const float expected = part == &k ? want[i] + shift[n] : want[i];
          ASSERT_TRUE(same_bits(got[i / outputs * 149 + first + n], expected))
              << kernels->isa << " row " << i / outputs << " output " << first + n;
        }
        first += outputs;
      }
    }
  }
}

TEST(LinearStackTest, NoRowsIsNoWork) {
  ThreadPool pool(2);
  const Weight weight(DType::kQ8_0, 32, 64, Values::kOrdinary, 1);
  const auto plan = pack({{weight.view, {}}}, Arithmetic::kInt8, pool);
  EXPECT_TRUE(multiply(kKernels_scalar, pool, *plan, {}, 0).empty());
}

double packed_bytes_a_file_byte(DType dtype) {
  ThreadPool pool(2);
  const Weight weight(dtype, 64, 1024, Values::kOrdinary, 1);
  const auto plan = pack({{weight.view, {}}}, Arithmetic::kInt8, pool);
  return static_cast<double>(plan->bytes()) / static_cast<double>(weight.bytes.size());
}

TEST(LinearPlanTest, PackedBytesAreTheFilesWithinThreePercent) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0, DType::kQ4_0,
                            DType::kQ4_1, DType::kQ4_K, DType::kQ6_K}) {
    EXPECT_LE(packed_bytes_a_file_byte(dtype), 1.03) << dtype_name(dtype);
  }
}

TEST(LinearPlanTest, TypesWithoutAPackingOfTheirOwnAreHardlyMoreThanDoubled) {
  for (const DType dtype : contract::kBlockTypes) {
    EXPECT_LE(packed_bytes_a_file_byte(dtype), 2.12) << dtype_name(dtype);
  }
}

class LinearRefusalTest : public testing::Test {
 protected:
  std::string refusal(const std::vector<LinearWeight>& stacked) {
    auto plan = pack_linear(stacked, Arithmetic::kInt8, pool_, arena_);
    return plan.ok() ? "accepted" : message_of(plan.status());
  }

  ThreadPool pool_{1};
  PackedArena arena_;
  Weight weight_{DType::kF32, 4, 64, Values::kOrdinary, 1};
};

TEST_F(LinearRefusalTest, NothingToStack) {
  EXPECT_EQ(refusal({}), "no weights to stack; at least one is needed");
}

TEST_F(LinearRefusalTest, DifferentInputsDoNotStack) {
  const Weight other(DType::kF32, 4, 65, Values::kOrdinary, 1);
  EXPECT_THAT(refusal({{weight_.view, {}}, {other.view, {}}}), testing::HasSubstr("64 and 65"));
}

TEST_F(LinearRefusalTest, VectorsAndEmptyMatrices) {
  weight_.view.shape = {256};
  EXPECT_THAT(refusal({{weight_.view, {}}}), testing::HasSubstr("[256]"));
  weight_.view.shape = {0, 64};
  EXPECT_THAT(refusal({{weight_.view, {}}}), testing::HasSubstr("at least 1"));
}

TEST_F(LinearRefusalTest, TypesThatAreNotWeights) {
  weight_.view.dtype = DType::kI32;
  EXPECT_THAT(refusal({{weight_.view, {}}}), testing::HasSubstr("type I32"));
}

TEST_F(LinearRefusalTest, PartialBlocks) {
  weight_.view.dtype = DType::kQ8_0;
  weight_.view.shape = {4, 33};
  EXPECT_THAT(refusal({{weight_.view, {}}}), testing::HasSubstr("whole blocks of 32"));
}

TEST_F(LinearRefusalTest, BiasOfAnotherLength) {
  TensorView bias = weight_.view;
  bias.shape = {5};
  EXPECT_THAT(refusal({{weight_.view, bias}}), testing::HasSubstr("[5]; the weight has 4 outputs"));
}

TEST(Dpbf16Test, TheInstructionIsTwoFusedMultiplyAddsOddFirst) {
  if (!__builtin_cpu_supports("avx512bf16")) GTEST_SKIP() << "no AVX-512 BF16 here";
  EXPECT_TRUE(dpbf16_is_two_fmas(PairOrder::kOddFirst));
  EXPECT_FALSE(dpbf16_is_two_fmas(PairOrder::kEvenFirst));  // the check can fail
}

}  // namespace
}  // namespace lockstep::device::cpu
