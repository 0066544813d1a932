// exp, log, sin, cos, tanh and the activations made of them, over the lane types of lane-inl.h.
// The same bits on every instruction set: each operation below is one IEEE rounding. Reductions,
// accuracy and what happens at the edges are written down in docs/numerics.md, Functions.
//
// REQUIRES the floating-point mode of ComputeScope (base/thread_pool.h): FTZ, DAZ, nearest even.
//
// Included by units built for one instruction set, hence the anonymous namespace (lane-inl.h).
#pragma once

#include "base/lane-inl.h"

namespace lockstep {
namespace {

// c[n - 1] x^(n - 1) + ... + c[1] x + c[0] by Horner, a fma each.
template <class L, int n>
typename L::F lane_polynomial(const float (&c)[n], typename L::F x) {
  typename L::F sum = L::set(c[n - 1]);
  for (int i = n - 2; i >= 0; --i) sum = L::fma(sum, x, L::set(c[i]));
  return sum;
}

// `magnitude`, a number without a sign, with the sign of x.
template <class L>
typename L::F lane_with_sign_of(typename L::F x, typename L::F magnitude) {
  return L::from_bits(L::ior(L::bits(magnitude), L::iand(L::bits(x), L::iset(INT32_MIN))));
}

// x = n ln 2 + r, |r| <= ln(2) / 2; e^x = 2^n (1 + r + r^2 P(r)).
template <class L>
typename L::F lane_exp(typename L::F x) {
  constexpr float kLog2E = 0x1.715476p+0f;
  constexpr float kLn2High = 0x1.62e430p-1f;  // n * high is exact in a fma
  constexpr float kLn2Low = -0x1.05c610p-29f;
  constexpr float kSmallest = -87.0f;  // e^-87 is the last normal result, near enough
  constexpr float kLargest = 0x1.62e42ep+6f;
  constexpr float kP[] = {1.0f,           1.0f,           0x1.fffffcp-2f, 0x1.555490p-3f,
                          0x1.5558f4p-5f, 0x1.123a6cp-7f, 0x1.6a234cp-10f};
  using F = typename L::F;
  const F n = L::round(L::mul(x, L::set(kLog2E)));
  F r = L::nfma(n, L::set(kLn2High), x);
  r = L::nfma(n, L::set(kLn2Low), r);
  const F p = lane_polynomial<L>(kP, r);
  // n = 128 only meets p <= 1, so the largest results stay below infinity's exponent.
  F y = L::from_bits(L::iadd(L::bits(p), L::template shl<23>(L::to_int(n))));
  y = L::select(L::lt(x, L::set(kSmallest)), L::zero(), y);
  return L::select(L::gt(x, L::set(kLargest)), L::set(__builtin_inff()), y);
}

// x = 2^e m, m in [sqrt(1/2), sqrt(2)), f = m - 1, s = f / (2 + f):
// log(1 + f) = f - (f^2 / 2 - s (f^2 / 2 + R)), R = s^2 P(s^2).
template <class L>
typename L::F lane_log(typename L::F x) {
  constexpr int32_t kSqrtHalf = 0x3f3504f3;
  constexpr int32_t kExponent = 0x7f800000;
  constexpr float kLn2High = 0x1.62e400p-1f;  // e * high is exact
  constexpr float kLn2Low = 0x1.7f7d1cp-20f;
  constexpr float kP[] = {0x1.55557ap-1f, 0x1.995ebap-2f, 0x1.31e2f2p-2f};
  using F = typename L::F;
  using I = typename L::I;
  const I bits = L::bits(x);
  const I e = L::template sra<23>(L::isub(bits, L::iset(kSqrtHalf)));
  const F f = L::sub(L::from_bits(L::isub(bits, L::template shl<23>(e))), L::set(1.0f));
  const F s = L::div(f, L::add(L::set(2.0f), f));
  const F z = L::mul(s, s);
  const F r = L::mul(z, lane_polynomial<L>(kP, z));
  const F half_square = L::mul(L::mul(L::set(0.5f), f), f);
  const F exponent = L::to_float(e);
  const F tail = L::fma(s, L::add(half_square, r), L::mul(exponent, L::set(kLn2Low)));
  F y = L::sub(f, L::sub(half_square, tail));
  y = L::fma(exponent, L::set(kLn2High), y);

  const F infinity = L::set(__builtin_inff());
  y = L::select(L::lt(x, infinity), y, x);  // infinity and NaN are their own logarithms
  y = L::select(L::lt(x, L::zero()), L::set(__builtin_nanf("")), y);
  const I zero = L::iset(0);
  return L::select(L::ieq(L::iand(bits, L::iset(kExponent)), zero), L::neg(infinity), y);
}

template <class L>
struct LaneSinCos {
  typename L::F sin;
  typename L::F cos;
};

// n = the multiple of pi/2 nearest to x, taken off in three parts. Beyond 2^18 n is off by up to
// one, so a second step brings the rest into [-pi/4, pi/4].
template <class L>
LaneSinCos<L> lane_sincos(typename L::F x) {
  constexpr float kTwoByPi = 0x1.45f306p-1f;
  constexpr float kHalfPi[] = {0x1.921fb6p+0f, -0x1.777a5cp-25f, -0x1.ee59dap-50f};
  constexpr float kSin[] = {-0x1.555544p-3f, 0x1.110694p-7f, -0x1.990902p-13f};
  constexpr float kCos[] = {0x1.55554ap-5f, -0x1.6c0bb6p-10f, 0x1.99c3cep-16f};
  using F = typename L::F;
  using I = typename L::I;
  const F n = L::round(L::mul(x, L::set(kTwoByPi)));
  F r = L::nfma(n, L::set(kHalfPi[0]), x);  // exact below 2^24: a multiple of 2^-23, less than 2
  r = L::nfma(n, L::set(kHalfPi[1]), r);
  r = L::nfma(n, L::set(kHalfPi[2]), r);
  const F rest = L::round(L::mul(r, L::set(kTwoByPi)));
  r = L::nfma(rest, L::set(kHalfPi[0]), r);
  r = L::nfma(rest, L::set(kHalfPi[1]), r);

  const F z = L::mul(r, r);
  const F sin = L::fma(L::mul(r, z), lane_polynomial<L>(kSin, z), r);
  const F cos =
      L::fma(L::mul(z, z), lane_polynomial<L>(kCos, z), L::nfma(L::set(0.5f), z, L::set(1.0f)));

  // By quadrant q: (sin, cos), (cos, -sin), (-sin, -cos), (-cos, sin).
  const I q = L::iadd(L::to_int(n), L::to_int(rest));
  const auto even = L::ieq(L::iand(q, L::iset(1)), L::iset(0));
  const I sin_sign = L::template shl<30>(L::iand(q, L::iset(2)));
  const I cos_sign = L::template shl<30>(L::iand(L::iadd(q, L::iset(1)), L::iset(2)));
  const F s = L::select(even, sin, cos);
  const F c = L::select(even, cos, sin);
  return {L::from_bits(L::ixor(L::bits(s), sin_sign)), L::from_bits(L::ixor(L::bits(c), cos_sign))};
}

// a = |x| < 0.625: a + a^3 P(a^2); else 1 - 2 / (e^(2 a) + 1). Then x's sign.
template <class L>
typename L::F lane_tanh(typename L::F x) {
  constexpr float kP[] = {-0x1.555534p-2f, 0x1.110768p-3f, -0x1.b84448p-5f, 0x1.5256d8p-6f,
                          -0x1.76ac1ap-8f};
  using F = typename L::F;
  const F one = L::set(1.0f);
  const F two = L::set(2.0f);
  const F magnitude = L::abs(x);
  const F z = L::mul(x, x);
  const F near = L::fma(L::mul(magnitude, z), lane_polynomial<L>(kP, z), magnitude);
  const F far = L::sub(one, L::div(two, L::add(lane_exp<L>(L::mul(two, magnitude)), one)));
  return lane_with_sign_of<L>(x, L::select(L::lt(magnitude, L::set(0.625f)), near, far));
}

// x / (1 + e^-x)
template <class L>
typename L::F lane_silu(typename L::F x) {
  return L::div(x, L::add(L::set(1.0f), lane_exp<L>(L::neg(x))));
}

// (0.5 x) (1 + tanh(sqrt(2/pi) fma(0.044715 (x x), x, x)))
template <class L>
typename L::F lane_gelu_tanh(typename L::F x) {
  constexpr float kSqrtTwoByPi = 0.7978845608f;
  const typename L::F cubic = L::mul(L::set(0.044715f), L::mul(x, x));
  const typename L::F inner = L::mul(L::set(kSqrtTwoByPi), L::fma(cubic, x, x));
  return L::mul(L::mul(L::set(0.5f), x), L::add(L::set(1.0f), lane_tanh<L>(inner)));
}

// cap tanh(x / cap)
template <class L>
typename L::F lane_soft_cap(typename L::F x, typename L::F cap) {
  return L::mul(cap, lane_tanh<L>(L::div(x, cap)));
}

}  // namespace
}  // namespace lockstep
