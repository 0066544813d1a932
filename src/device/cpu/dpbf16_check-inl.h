// Whether this CPU's VDPBF16PS is the two fused multiply-adds that docs/numerics.md says, odd
// element first. The architecture leaves the order inside the instruction to be looked up in a
// manual's pseudocode; a device that relies on the bits asks the silicon once at start.
#pragma once

#include <immintrin.h>

#include "device/cpu/kernels.h"

namespace lockstep::device::cpu {
namespace {

// 16 random words from counter n (the 32-bit finaliser of MurmurHash3).
inline __m512i hashed(int n) {
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  __m512i x = _mm512_add_epi32(_mm512_set1_epi32(16 * n + 1), lanes);
  x = _mm512_xor_si512(x, _mm512_srli_epi32(x, 16));
  x = _mm512_mullo_epi32(x, _mm512_set1_epi32(static_cast<int>(0x85ebca6bu)));
  x = _mm512_xor_si512(x, _mm512_srli_epi32(x, 13));
  x = _mm512_mullo_epi32(x, _mm512_set1_epi32(static_cast<int>(0xc2b2ae35u)));
  return _mm512_xor_si512(x, _mm512_srli_epi32(x, 16));
}

// Keeps sign and mantissa and draws the exponent from [base, base + 8), for bf16 pairs
// (`exponent_bits` 0x7f807f80) or f32 (0x7f800000).
inline __m512i with_exponent(__m512i x, int exponent_bits, int base) {
  const __m512i low = _mm512_and_si512(x, _mm512_set1_epi32(exponent_bits & 0x03800380));
  const __m512i high = _mm512_set1_epi32(exponent_bits & (base * 0x00800080));
  const __m512i rest = _mm512_andnot_si512(_mm512_set1_epi32(exponent_bits), x);
  return _mm512_or_si512(_mm512_or_si512(low, high), rest);
}

struct PairOperands {
  __m512i acc, a, w;
};

// Round n of the check: any bits at all; sums that round and cancel; products around the smallest
// normal number, denormal operands included.
inline PairOperands pair_operands(int n) {
  PairOperands o = {hashed(3 * n), hashed(3 * n + 1), hashed(3 * n + 2)};
  constexpr int kBf16Exponents = 0x7f807f80;
  constexpr int kF32Exponents = 0x7f800000;
  if (n % 3 == 1) {
    o.a = with_exponent(o.a, kBf16Exponents, 120);
    o.w = with_exponent(o.w, kBf16Exponents, 120);
    o.acc = with_exponent(o.acc, kF32Exponents, 120);
  } else if (n % 3 == 2) {
    o.a = with_exponent(o.a, kBf16Exponents, 0);
    o.w = with_exponent(o.w, kBf16Exponents, 120);
    o.acc = with_exponent(o.acc, kF32Exponents, 0);
  }
  return o;
}

inline __m512 two_fmas(const PairOperands& o, PairOrder order) {
  const __m512i high = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
  const __m512 a_even = _mm512_castsi512_ps(_mm512_slli_epi32(o.a, 16));
  const __m512 w_even = _mm512_castsi512_ps(_mm512_slli_epi32(o.w, 16));
  const __m512 a_odd = _mm512_castsi512_ps(_mm512_and_si512(o.a, high));
  const __m512 w_odd = _mm512_castsi512_ps(_mm512_and_si512(o.w, high));
  const __m512 acc = _mm512_castsi512_ps(o.acc);
  if (order == PairOrder::kOddFirst) {
    return _mm512_fmadd_ps(a_even, w_even, _mm512_fmadd_ps(a_odd, w_odd, acc));
  }
  return _mm512_fmadd_ps(a_odd, w_odd, _mm512_fmadd_ps(a_even, w_even, acc));
}

}  // namespace

bool dpbf16_is_two_fmas(PairOrder order) {
  constexpr int kRounds = 3000;              // 48,000 pairs, well under a millisecond
  constexpr unsigned kComputeMode = 0x9fc0;  // FTZ, DAZ, nearest even, all exceptions masked
  const unsigned mode = _mm_getcsr();
  _mm_setcsr(kComputeMode);
  unsigned differing = 0;
  for (int n = 0; n < kRounds; ++n) {
    const PairOperands o = pair_operands(n);
    const __m512 got = _mm512_dpbf16_ps(_mm512_castsi512_ps(o.acc), reinterpret_cast<__m512bh>(o.a),
                                        reinterpret_cast<__m512bh>(o.w));
    const __m512 want = two_fmas(o, order);
    const unsigned nans =
        _mm512_cmp_ps_mask(got, got, _CMP_UNORD_Q) & _mm512_cmp_ps_mask(want, want, _CMP_UNORD_Q);
    const unsigned unequal =
        _mm512_cmpneq_epi32_mask(_mm512_castps_si512(got), _mm512_castps_si512(want));
    differing |= unequal & ~nans;
  }
  _mm_setcsr(mode);
  return differing == 0;
}

}  // namespace lockstep::device::cpu
