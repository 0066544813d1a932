// Lane types: one vocabulary of elementwise operations over 1, 8 or 16 f32 lanes, so that lane code
// (exp, sin, norms, softmax) is written once and gives the same bits on every instruction set.
//
// A lane type L has: kLanes, F (floats), I (int32), M (mask) and the static functions below. Every
// operation is IEEE, one rounding; fma is fused. Reciprocal estimates do not exist here.
//
// Included by translation units built for one instruction set, so everything is in an anonymous
// namespace: an inline function shared with other units could become the program's only copy and
// end on CPUs without that set. ScalarLane is the definition; device/cpu/simd-inl.h has the others.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace lockstep {
namespace {

struct ScalarLane {
  static constexpr int kLanes = 1;
  using F = float;
  using I = int32_t;
  using M = bool;

  static F set(float x) { return x; }
  static F zero() { return 0.0f; }
  static F load(const float* p) { return *p; }
  static void store(float* p, F x) { *p = x; }
  // First n lanes, 0 <= n <= kLanes; the rest read as +0 and are not written.
  static F load_n(const float* p, int n) { return n > 0 ? *p : 0.0f; }
  static void store_n(float* p, F x, int n) {
    if (n > 0) *p = x;
  }

  static F add(F a, F b) { return a + b; }
  static F sub(F a, F b) { return a - b; }
  static F mul(F a, F b) { return a * b; }
  static F div(F a, F b) { return a / b; }
  static F sqrt(F a) { return __builtin_sqrtf(a); }
  static F fma(F a, F b, F c) { return std::fma(a, b, c); }    // a * b + c
  static F nfma(F a, F b, F c) { return std::fma(-a, b, c); }  // c - a * b
  static F round(F a) { return __builtin_rintf(a); }           // nearest even
  static F abs(F a) { return std::bit_cast<float>(std::bit_cast<int32_t>(a) & 0x7fffffff); }
  static F neg(F a) { return std::bit_cast<float>(std::bit_cast<uint32_t>(a) ^ 0x80000000u); }
  // The larger; b where either is NaN or they are equal (as MAXPS).
  static F max(F a, F b) { return a > b ? a : b; }
  static F min(F a, F b) { return a < b ? a : b; }

  static M lt(F a, F b) { return a < b; }
  static M le(F a, F b) { return a <= b; }
  static M gt(F a, F b) { return a > b; }
  static M eq(F a, F b) { return a == b; }
  static M is_nan(F a) { return a != a; }
  static F select(M m, F yes, F no) { return m ? yes : no; }

  static I iset(int32_t x) { return x; }
  static I bits(F a) { return std::bit_cast<int32_t>(a); }
  static F from_bits(I a) { return std::bit_cast<float>(a); }
  // Nearest even. REQUIRES |a| < 2^31 and not NaN (else 0x80000000).
  static I to_int(F a) {
    return std::fabs(a) < 2147483648.0f ? static_cast<int32_t>(__builtin_rintf(a)) : INT32_MIN;
  }
  static F to_float(I a) { return static_cast<float>(a); }
  static I iadd(I a, I b) {
    return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
  }
  static I isub(I a, I b) {
    return static_cast<int32_t>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b));
  }
  static I iand(I a, I b) { return a & b; }
  static I ior(I a, I b) { return a | b; }
  static I ixor(I a, I b) { return a ^ b; }
  template <int kShift>
  static I shl(I a) {
    return static_cast<int32_t>(static_cast<uint32_t>(a) << kShift);
  }
  template <int kShift>
  static I sra(I a) {
    return a >> kShift;
  }
  template <int kShift>
  static I shr(I a) {
    return static_cast<int32_t>(static_cast<uint32_t>(a) >> kShift);
  }
  static M ieq(I a, I b) { return a == b; }
};

}  // namespace
}  // namespace lockstep
