// The same bits from every lane type, on bit patterns of every kind.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "base/math.h"
#include "base/rng.h"
#include "base/thread_pool.h"
#include "device/testing/lane_functions.h"

namespace lockstep::device::contract {
namespace {

// Both signs and all exponents, denormals, infinities and NaNs among them, in an order that mixes
// them within a vector. A length that no lane count divides.
std::vector<float> samples() {
  std::vector<float> x;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 4093) {
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  CounterRng rng(1);
  for (size_t i = x.size(); i > 1; --i) {
    std::swap(x[i - 1], x[rng.below(static_cast<uint32_t>(i))]);
  }
  if (x.size() % 2 == 0) x.pop_back();
  return x;
}

bool same(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

void expect_scalar_bits(const LaneFunctions& set) {
  const ComputeScope scope;
  const std::vector<float> x = samples();
  const auto n = static_cast<int64_t>(x.size());
  for (int f = 0; f < kLaneFunctions; ++f) {
    std::vector<float> want(n);
    std::vector<float> got(n);
    kScalarFunctions.functions[f].run(x.data(), n, want.data());
    set.functions[f].run(x.data(), n, got.data());
    int64_t different = 0;
    for (int64_t i = 0; i < n; ++i) different += same(want[i], got[i]) ? 0 : 1;
    EXPECT_EQ(different, 0) << set.functions[f].name;
  }
}

TEST(LaneMath, Avx2HasTheBitsOfTheScalar) {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) GTEST_SKIP();
  expect_scalar_bits(kAvx2Functions);
}

TEST(LaneMath, Avx512HasTheBitsOfTheScalar) {
  if (!__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512dq") ||
      !__builtin_cpu_supports("avx512vl")) {
    GTEST_SKIP();
  }
  expect_scalar_bits(kAvx512Functions);
}

TEST(LaneMath, TheScalarFunctionsAreThoseOfBase) {
  const ComputeScope scope;
  for (float x : {-3.5f, -0.1f, 0.0f, 0.7f, 12.0f, 1e6f}) {
    float y[kLaneFunctions];
    for (int f = 0; f < kLaneFunctions; ++f) kScalarFunctions.functions[f].run(&x, 1, y + f);
    const float want[] = {exp_f32(x),  log_f32(x),  sincos_f32(x).sin, sincos_f32(x).cos,
                          tanh_f32(x), silu_f32(x), gelu_tanh_f32(x),  soft_cap_f32(x, 30.0f)};
    for (int f = 0; f < kLaneFunctions; ++f) EXPECT_TRUE(same(y[f], want[f])) << x;
  }
}

}  // namespace
}  // namespace lockstep::device::contract
