#include "base/math.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/lane_math-inl.h"

namespace lockstep {
namespace {

template <int n>
double polynomial(const double (&c)[n], double x) {
  double sum = c[n - 1];
  for (int i = n - 2; i >= 0; --i) sum = std::fma(sum, x, c[i]);
  return sum;
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLn2High = 0x1.62e42fefa0000p-1;  // times an exponent: exact
constexpr double kLn2Low = 0x1.cf79abc9e3b3ap-40;

}  // namespace

float exp_f32(float x) { return lane_exp<ScalarLane>(x); }
float log_f32(float x) { return lane_log<ScalarLane>(x); }
SinCos sincos_f32(float x) {
  const auto [sin, cos] = lane_sincos<ScalarLane>(x);
  return {sin, cos};
}
float tanh_f32(float x) { return lane_tanh<ScalarLane>(x); }
float silu_f32(float x) { return lane_silu<ScalarLane>(x); }
float gelu_tanh_f32(float x) { return lane_gelu_tanh<ScalarLane>(x); }
float soft_cap_f32(float x, float cap) { return lane_soft_cap<ScalarLane>(x, cap); }

// As lane_exp, with the Taylor series: its next term is below 4e-18.
double exp_f64(double x) {
  constexpr double kLog2E = 0x1.71547652b82fep+0;
  constexpr double kP[] = {1.0,
                           1.0,
                           1.0 / 2,
                           1.0 / 6,
                           1.0 / 24,
                           1.0 / 120,
                           1.0 / 720,
                           1.0 / 5040,
                           1.0 / 40320,
                           1.0 / 362880,
                           1.0 / 3628800,
                           1.0 / 39916800,
                           1.0 / 479001600,
                           1.0 / 6227020800};
  if (x != x) return x;
  if (x < -708.0) return 0.0;
  if (x > 709.0) return kInfinity;
  const double n = std::rint(x * kLog2E);
  const double r = std::fma(-n, kLn2Low, std::fma(-n, kLn2High, x));
  const auto exponent = static_cast<uint64_t>(static_cast<int64_t>(n)) << 52;
  return std::bit_cast<double>(std::bit_cast<uint64_t>(polynomial(kP, r)) + exponent);
}

// As lane_log; P is a minimax polynomial, error 2^-59.
double log_f64(double x) {
  constexpr int64_t kSqrtHalf = 0x3fe6a09e667f3bcd;
  constexpr double kP[] = {0x1.5555555555592p-1, 0x1.999999997fdb8p-2, 0x1.24924941f11e3p-2,
                           0x1.c71c520963d08p-3, 0x1.74663ee6dcc76p-3, 0x1.39a1bae377b51p-3,
                           0x1.2f0561aba3e97p-3};
  if (!(x < kInfinity)) return x;
  if (std::fabs(x) < std::numeric_limits<double>::min()) return -kInfinity;
  if (x < 0.0) return std::numeric_limits<double>::quiet_NaN();
  const auto bits = std::bit_cast<int64_t>(x);
  const int64_t e = (bits - kSqrtHalf) >> 52;
  const double f = std::bit_cast<double>(bits - e * (int64_t{1} << 52)) - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s;
  const double half_square = 0.5 * f * f;
  const auto exponent = static_cast<double>(e);
  const double tail = std::fma(s, half_square + z * polynomial(kP, z), exponent * kLn2Low);
  return std::fma(exponent, kLn2High, f - (half_square - tail));
}

double pow_f64(double x, double y) { return exp_f64(y * log_f64(x)); }

}  // namespace lockstep
