// The AVX2 and AVX-512 lane types (base/lane-inl.h has the vocabulary and the scalar one), and
// NativeLane: the widest one that this translation unit is built for.
#pragma once

#include "base/lane-inl.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace lockstep {
namespace {

#if defined(__AVX2__)
struct Avx2Lane {
  static constexpr int kLanes = 8;
  using F = __m256;
  using I = __m256i;
  using M = __m256;  // all ones or all zeros a lane

  static F set(float x) { return _mm256_set1_ps(x); }
  static F zero() { return _mm256_setzero_ps(); }
  static F load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, F x) { _mm256_storeu_ps(p, x); }
  static I tail(int n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static F load_n(const float* p, int n) { return _mm256_maskload_ps(p, tail(n)); }
  static void store_n(float* p, F x, int n) { _mm256_maskstore_ps(p, tail(n), x); }

  static F add(F a, F b) { return _mm256_add_ps(a, b); }
  static F sub(F a, F b) { return _mm256_sub_ps(a, b); }
  static F mul(F a, F b) { return _mm256_mul_ps(a, b); }
  static F div(F a, F b) { return _mm256_div_ps(a, b); }
  static F sqrt(F a) { return _mm256_sqrt_ps(a); }
  static F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
  static F nfma(F a, F b, F c) { return _mm256_fnmadd_ps(a, b, c); }
  static F round(F a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static F abs(F a) { return from_bits(iand(bits(a), iset(0x7fffffff))); }
  static F neg(F a) { return from_bits(ixor(bits(a), iset(INT32_MIN))); }
  static F max(F a, F b) { return _mm256_max_ps(a, b); }
  static F min(F a, F b) { return _mm256_min_ps(a, b); }

  static M lt(F a, F b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
  static M le(F a, F b) { return _mm256_cmp_ps(a, b, _CMP_LE_OQ); }
  static M gt(F a, F b) { return _mm256_cmp_ps(a, b, _CMP_GT_OQ); }
  static M eq(F a, F b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
  static M is_nan(F a) { return _mm256_cmp_ps(a, a, _CMP_UNORD_Q); }
  static F select(M m, F yes, F no) { return _mm256_blendv_ps(no, yes, m); }

  static I iset(int32_t x) { return _mm256_set1_epi32(x); }
  static I bits(F a) { return _mm256_castps_si256(a); }
  static F from_bits(I a) { return _mm256_castsi256_ps(a); }
  static I to_int(F a) { return _mm256_cvtps_epi32(a); }
  static F to_float(I a) { return _mm256_cvtepi32_ps(a); }
  static I iadd(I a, I b) { return _mm256_add_epi32(a, b); }
  static I isub(I a, I b) { return _mm256_sub_epi32(a, b); }
  static I iand(I a, I b) { return _mm256_and_si256(a, b); }
  static I ior(I a, I b) { return _mm256_or_si256(a, b); }
  static I ixor(I a, I b) { return _mm256_xor_si256(a, b); }
  template <int kShift>
  static I shl(I a) {
    return _mm256_slli_epi32(a, kShift);
  }
  template <int kShift>
  static I sra(I a) {
    return _mm256_srai_epi32(a, kShift);
  }
  template <int kShift>
  static I shr(I a) {
    return _mm256_srli_epi32(a, kShift);
  }
  static M ieq(I a, I b) { return from_bits(_mm256_cmpeq_epi32(a, b)); }
};
#endif

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define LOCKSTEP_AVX512 1
struct Avx512Lane {
  static constexpr int kLanes = 16;
  using F = __m512;
  using I = __m512i;
  using M = __mmask16;

  static F set(float x) { return _mm512_set1_ps(x); }
  static F zero() { return _mm512_setzero_ps(); }
  static F load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, F x) { _mm512_storeu_ps(p, x); }
  static M tail(int n) { return static_cast<M>((1u << n) - 1u); }
  static F load_n(const float* p, int n) { return _mm512_maskz_loadu_ps(tail(n), p); }
  static void store_n(float* p, F x, int n) { _mm512_mask_storeu_ps(p, tail(n), x); }

  static F add(F a, F b) { return _mm512_add_ps(a, b); }
  static F sub(F a, F b) { return _mm512_sub_ps(a, b); }
  static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  static F div(F a, F b) { return _mm512_div_ps(a, b); }
  static F sqrt(F a) { return _mm512_sqrt_ps(a); }
  static F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  static F nfma(F a, F b, F c) { return _mm512_fnmadd_ps(a, b, c); }
  static F round(F a) { return _mm512_roundscale_ps(a, 8); }
  static F abs(F a) { return from_bits(iand(bits(a), iset(0x7fffffff))); }
  static F neg(F a) { return from_bits(ixor(bits(a), iset(INT32_MIN))); }
  static F max(F a, F b) { return _mm512_max_ps(a, b); }
  static F min(F a, F b) { return _mm512_min_ps(a, b); }

  static M lt(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
  static M le(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }
  static M gt(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
  static M eq(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
  static M is_nan(F a) { return _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q); }
  static F select(M m, F yes, F no) { return _mm512_mask_blend_ps(m, no, yes); }

  static I iset(int32_t x) { return _mm512_set1_epi32(x); }
  static I bits(F a) { return _mm512_castps_si512(a); }
  static F from_bits(I a) { return _mm512_castsi512_ps(a); }
  static I to_int(F a) { return _mm512_cvtps_epi32(a); }
  static F to_float(I a) { return _mm512_cvtepi32_ps(a); }
  static I iadd(I a, I b) { return _mm512_add_epi32(a, b); }
  static I isub(I a, I b) { return _mm512_sub_epi32(a, b); }
  static I iand(I a, I b) { return _mm512_and_si512(a, b); }
  static I ior(I a, I b) { return _mm512_or_si512(a, b); }
  static I ixor(I a, I b) { return _mm512_xor_si512(a, b); }
  template <int kShift>
  static I shl(I a) {
    return _mm512_slli_epi32(a, kShift);
  }
  template <int kShift>
  static I sra(I a) {
    return _mm512_srai_epi32(a, kShift);
  }
  template <int kShift>
  static I shr(I a) {
    return _mm512_srli_epi32(a, kShift);
  }
  static M ieq(I a, I b) { return _mm512_cmpeq_epi32_mask(a, b); }
};
#endif

#if defined(LOCKSTEP_AVX512)
using NativeLane = Avx512Lane;
#elif defined(__AVX2__)
using NativeLane = Avx2Lane;
#else
using NativeLane = ScalarLane;
#endif

}  // namespace
}  // namespace lockstep
