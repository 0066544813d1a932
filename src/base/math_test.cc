#include "base/math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/thread_pool.h"

namespace lockstep {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kDenormal = 0x1p-140f;
using Wide = long double;  // libm's, as the measure of accuracy only

// Calls f for bit patterns of both signs, spread evenly over all exponents, inside [low, high].
template <class F>
void for_floats(float low, float high, F f) {
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 9973) {
    const auto x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (low <= x && x <= high) f(x);
  }
}

// Largest relative error of f against the exact value, in units of 2^-24.
template <class F, class Exact>
Wide relative_error(float low, float high, F f, Exact exact) {
  const ComputeScope scope;
  Wide worst = 0;
  for_floats(low, high, [&](float x) {
    if (std::fabs(x) < std::numeric_limits<float>::min()) return;
    const Wide want = exact(static_cast<Wide>(x));
    if (fabsl(want) < std::numeric_limits<float>::min()) return;
    worst = std::max(worst, fabsl((static_cast<Wide>(f(x)) - want) / want));
  });
  return worst * 0x1p+24L;
}

TEST(Math, ErrorsAreThoseOfTheDefinition) {
  EXPECT_LT(relative_error(-87, 88.7228f, exp_f32, expl), 1.3L);
  EXPECT_LT(relative_error(0, kInfinity, log_f32, logl), 1.4L);
  EXPECT_LT(relative_error(-20, 20, tanh_f32, tanhl), 2.4L);
  EXPECT_LT(relative_error(-80, 80, silu_f32, [](Wide x) { return x / (1 + expl(-x)); }), 3.0L);
}

TEST(Math, AnglesStayGoodToSixteenMillion) {
  const ComputeScope scope;
  Wide worst = 0;
  const auto check = [&](float x) {
    const SinCos got = sincos_f32(x);
    worst = std::max(worst, fabsl(static_cast<Wide>(got.sin) - sinl(x)));
    worst = std::max(worst, fabsl(static_cast<Wide>(got.cos) - cosl(x)));
  };
  for_floats(-0x1p+24f, 0x1p+24f, check);
  for (int position = 0; position < 1 << 24; position += 331) check(static_cast<float>(position));
  EXPECT_LT(worst, 1.03e-7L);
}

TEST(Math, ExpKeepsItsEdges) {
  const ComputeScope scope;
  EXPECT_EQ(exp_f32(0.0f), 1.0f);
  EXPECT_EQ(exp_f32(-0.0f), 1.0f);
  EXPECT_EQ(exp_f32(kDenormal), 1.0f);
  EXPECT_EQ(exp_f32(-kInfinity), 0.0f);
  EXPECT_EQ(exp_f32(std::nextafter(-87.0f, -kInfinity)), 0.0f);
  EXPECT_GT(exp_f32(-87.0f), 0.0f);
  EXPECT_LT(exp_f32(0x1.62e42ep+6f), kInfinity);
  EXPECT_EQ(exp_f32(0x1.62e430p+6f), kInfinity);
  EXPECT_EQ(exp_f32(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(exp_f32(kNan)));
  EXPECT_TRUE(std::isnan(exp_f32(-kNan)));
}

TEST(Math, LogKeepsItsEdges) {
  const ComputeScope scope;
  EXPECT_EQ(log_f32(1.0f), 0.0f);
  EXPECT_EQ(log_f32(0.0f), -kInfinity);
  EXPECT_EQ(log_f32(-0.0f), -kInfinity);
  EXPECT_EQ(log_f32(kDenormal), -kInfinity);
  EXPECT_EQ(log_f32(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(log_f32(-1.0f)));
  EXPECT_TRUE(std::isnan(log_f32(-kInfinity)));
  EXPECT_TRUE(std::isnan(log_f32(kNan)));
}

TEST(Math, SinCosAndTanhKeepTheirEdges) {
  const ComputeScope scope;
  EXPECT_EQ(sincos_f32(0.0f).sin, 0.0f);
  EXPECT_EQ(sincos_f32(0.0f).cos, 1.0f);
  EXPECT_TRUE(std::isnan(sincos_f32(kInfinity).sin));
  EXPECT_TRUE(std::isnan(sincos_f32(kNan).cos));
  EXPECT_EQ(tanh_f32(kInfinity), 1.0f);
  EXPECT_EQ(tanh_f32(-kInfinity), -1.0f);
  EXPECT_TRUE(std::isnan(tanh_f32(kNan)));
  EXPECT_TRUE(std::signbit(tanh_f32(-0.0f)));
}

TEST(Math, GeluAndSoftCapFollowTheirFormulas) {
  const ComputeScope scope;
  EXPECT_NEAR(gelu_tanh_f32(1.0f), 0.8411919906, 1e-7);
  EXPECT_NEAR(gelu_tanh_f32(-0.5f), -0.1542859883, 1e-7);
  EXPECT_NEAR(soft_cap_f32(40.0f, 30.0f), 30 * std::tanh(40.0 / 30), 4e-6);
  EXPECT_EQ(soft_cap_f32(kInfinity, 30.0f), 30.0f);
}

TEST(Math, DoubleExpAndLogAreNearlyExact) {
  Wide exp_error = 0;
  Wide log_error = 0;
  for (int i = -70000; i <= 70000; ++i) {
    const double x = i * 0.01 + 0.00123;
    exp_error = std::max(exp_error, fabsl((exp_f64(x) - expl(x)) / expl(x)));
  }
  for (uint64_t bits = 0x0010000000000000; bits < 0x7ff0000000000000; bits += 0x00001234567890ab) {
    const auto x = std::bit_cast<double>(bits);
    log_error = std::max(log_error, fabsl((log_f64(x) - logl(x)) / logl(x)));
  }
  EXPECT_LT(exp_error, 3e-16L);
  EXPECT_LT(log_error, 3e-16L);
}

TEST(Math, DoubleEdges) {
  EXPECT_EQ(exp_f64(0.0), 1.0);
  EXPECT_EQ(exp_f64(-1000.0), 0.0);
  EXPECT_TRUE(std::isinf(exp_f64(1000.0)));
  EXPECT_TRUE(std::isnan(exp_f64(std::nan(""))));
  EXPECT_EQ(log_f64(1.0), 0.0);
  EXPECT_TRUE(std::isinf(log_f64(0.0)));
  EXPECT_TRUE(std::isnan(log_f64(-1.0)));
  EXPECT_TRUE(std::isnan(log_f64(std::nan(""))));
}

TEST(Math, RopeFrequenciesAreGoodToFourteenDigits) {
  Wide worst = 0;
  for (double base : {2.0, 1e4, 1e5, 5e5, 1e6, 1e7}) {
    for (int i = 0; i < 512; i += 2) {
      const double y = -static_cast<double>(i) / 512;
      const Wide want = powl(base, y);
      worst = std::max(worst, fabsl((pow_f64(base, y) - want) / want));
    }
  }
  EXPECT_LT(worst, 1e-14L);
}

}  // namespace
}  // namespace lockstep
