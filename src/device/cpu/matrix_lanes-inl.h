// MatrixLanes: the lane type of this translation unit with what the matrix kernels need on top:
// widening loads, byte dot products, bf16 pairs, reductions.
//
// A byte dot product sums four u8 x s8 products into each lane of 32 bits, exactly. Where the
// hardware has no such instruction the way depends on how large the codes are, so there are three
// of them, with one interface:
//   acc = begin(start);  acc = step(acc, weights(codes), activations)...;  s = finish(acc, start)
//   Dot4  codes in [0, 15], at most 8 steps         s = start + sum of code x activation
//   Dot6  codes in [0, 63]                          the same
//   Dot8  codes are value + 128                     s = sum of value x activation, for a start of
//                                                   -128 x (sum of activations)
// Activations are in [-127, 127].
#pragma once

#include <cstddef>

#include "device/cpu/simd-inl.h"
#if !defined(__AVX2__)
#include "base/float16.h"  // inline functions, so for the unit without special flags alone
#endif

namespace lockstep {
namespace {

#if !defined(__AVX2__)
struct MatrixLanes : ScalarLane {
  static I load_int(const void* p) {
    I x;
    __builtin_memcpy(&x, p, sizeof x);
    return x;
  }
  static I load_u8(const uint8_t* p) { return *p; }
  static I load_s8(const int8_t* p) { return *p; }
  static F load_f16(const uint16_t* p) { return f32_from_f16(*p); }
  static I load_u16(const uint16_t* p) { return *p; }
  static I broadcast_int(const void* p) { return load_int(p); }
  static void store_s8(int8_t* p, I x) { *p = static_cast<int8_t>(x); }
  static void store_int(void* p, I x) { __builtin_memcpy(p, &x, sizeof x); }
  static I imax(I a, I b) { return a > b ? a : b; }
  static int32_t reduce_max(I x) { return x; }
  static int32_t reduce_add(I x) { return x; }
  static void prefetch(const void*) {}

  struct Dot {
    static I begin(I start) { return start; }
    static I weights(I codes) { return codes; }
    static I step(I acc, I codes, I a) {
      for (int shift = 0; shift < 32; shift += 8) {
        const int code = (codes >> shift) & 0xff;
        acc += code * static_cast<int8_t>(a >> shift);
      }
      return acc;
    }
    static I finish(I acc, I) { return acc; }
  };
  using Dot4 = Dot;
  using Dot6 = Dot;
  using Dot8 = Dot;
};
#elif !defined(LOCKSTEP_AVX512)
struct MatrixLanes : Avx2Lane {
  static I load_int(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
  static __m128i load_8_bytes(const void* p) {
    return _mm_loadl_epi64(static_cast<const __m128i*>(p));
  }
  static __m128i load_16_bytes(const void* p) {
    return _mm_loadu_si128(static_cast<const __m128i*>(p));
  }
  static I load_u8(const uint8_t* p) { return _mm256_cvtepu8_epi32(load_8_bytes(p)); }
  static I load_s8(const int8_t* p) { return _mm256_cvtepi8_epi32(load_8_bytes(p)); }
  static F load_f16(const uint16_t* p) { return _mm256_cvtph_ps(load_16_bytes(p)); }
  static I load_u16(const uint16_t* p) { return _mm256_cvtepu16_epi32(load_16_bytes(p)); }
  static I broadcast_int(const void* p) {
    int32_t x;
    __builtin_memcpy(&x, p, sizeof x);
    return _mm256_set1_epi32(x);
  }
  static void store_int(void* p, I x) { _mm256_storeu_si256(static_cast<__m256i*>(p), x); }
  static void store_s8(int8_t* p, I x) {
    const __m128i words =
        _mm_packs_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packs_epi16(words, words));
  }
  static I imax(I a, I b) { return _mm256_max_epi32(a, b); }
  static int32_t reduce_max(I x) {
    __m128i m = _mm_max_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4e));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0xb1));
    return _mm_cvtsi128_si32(m);
  }
  static int32_t reduce_add(I x) {
    __m128i m = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    m = _mm_add_epi32(m, _mm_shuffle_epi32(m, 0x4e));
    m = _mm_add_epi32(m, _mm_shuffle_epi32(m, 0xb1));
    return _mm_cvtsi128_si32(m);
  }
  static void prefetch(const void* p) { _mm_prefetch(p, _MM_HINT_T1); }

  static I add_pairs(I acc, I words) {
    return _mm256_add_epi32(acc, _mm256_madd_epi16(words, _mm256_set1_epi16(1)));
  }
  struct Dot4 {  // 8 steps x 2 x 15 x 127 = 30,480: one 16-bit sum holds a block
    static I begin(I) { return _mm256_setzero_si256(); }
    static I weights(I codes) { return codes; }
    static I step(I acc, I codes, I a) {
      return _mm256_add_epi16(acc, _mm256_maddubs_epi16(codes, a));
    }
    static I finish(I acc, I start) { return add_pairs(start, acc); }
  };
  struct Dot6 {  // 2 x 63 x 127 fits 16 bits
    static I begin(I start) { return start; }
    static I weights(I codes) { return codes; }
    static I step(I acc, I codes, I a) { return add_pairs(acc, _mm256_maddubs_epi16(codes, a)); }
    static I finish(I acc, I) { return acc; }
  };
  struct Dot8 {  // |value| x (activation with value's sign): 2 x 128 x 127 fits 16 bits
    struct Weights {
      I magnitude;
      I value;
    };
    static I begin(I) { return _mm256_setzero_si256(); }
    static Weights weights(I codes) {
      const I value = _mm256_xor_si256(codes, _mm256_set1_epi8(INT8_MIN));
      return {_mm256_abs_epi8(value), value};
    }
    static I step(I acc, Weights w, I a) {
      return add_pairs(acc, _mm256_maddubs_epi16(w.magnitude, _mm256_sign_epi8(a, w.value)));
    }
    static I finish(I acc, I) { return acc; }
  };
};
#else
struct MatrixLanes : Avx512Lane {
  static I load_int(const void* p) { return _mm512_loadu_si512(p); }
  static __m128i load_16_bytes(const void* p) {
    return _mm_loadu_si128(static_cast<const __m128i*>(p));
  }
  static __m256i load_32_bytes(const void* p) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(p));
  }
  static I load_u8(const uint8_t* p) { return _mm512_cvtepu8_epi32(load_16_bytes(p)); }
  static I load_s8(const int8_t* p) { return _mm512_cvtepi8_epi32(load_16_bytes(p)); }
  static F load_f16(const uint16_t* p) { return _mm512_cvtph_ps(load_32_bytes(p)); }
  static I load_u16(const uint16_t* p) { return _mm512_cvtepu16_epi32(load_32_bytes(p)); }
  static I broadcast_int(const void* p) {
    int32_t x;
    __builtin_memcpy(&x, p, sizeof x);
    return _mm512_set1_epi32(x);
  }
  static void store_int(void* p, I x) { _mm512_storeu_si512(p, x); }
  static void store_s8(int8_t* p, I x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(x));
  }
  static I imax(I a, I b) { return _mm512_max_epi32(a, b); }
  static int32_t reduce_max(I x) { return _mm512_reduce_max_epi32(x); }
  static int32_t reduce_add(I x) { return _mm512_reduce_add_epi32(x); }
  static void prefetch(const void* p) { _mm_prefetch(p, _MM_HINT_T1); }

#if defined(__AVX512VNNI__)
  struct Dot {
    static I begin(I start) { return start; }
    static I weights(I codes) { return codes; }
    static I step(I acc, I codes, I a) { return _mm512_dpbusd_epi32(acc, codes, a); }
    static I finish(I acc, I) { return acc; }
  };
  using Dot4 = Dot;
  using Dot6 = Dot;
  using Dot8 = Dot;
#else
  static I add_pairs(I acc, I words) {
    return _mm512_add_epi32(acc, _mm512_madd_epi16(words, _mm512_set1_epi16(1)));
  }
  struct Dot4 {  // as for AVX2
    static I begin(I) { return _mm512_setzero_si512(); }
    static I weights(I codes) { return codes; }
    static I step(I acc, I codes, I a) {
      return _mm512_add_epi16(acc, _mm512_maddubs_epi16(codes, a));
    }
    static I finish(I acc, I start) { return add_pairs(start, acc); }
  };
  struct Dot6 {
    static I begin(I start) { return start; }
    static I weights(I codes) { return codes; }
    static I step(I acc, I codes, I a) { return add_pairs(acc, _mm512_maddubs_epi16(codes, a)); }
    static I finish(I acc, I) { return acc; }
  };
  struct Dot8 {  // VPSIGNB has no 512-bit form: a masked negation instead
    struct Weights {
      I magnitude;
      __mmask64 negative;
    };
    static I begin(I) { return _mm512_setzero_si512(); }
    static Weights weights(I codes) {
      const I value = _mm512_xor_si512(codes, _mm512_set1_epi8(INT8_MIN));
      return {_mm512_abs_epi8(value), _mm512_movepi8_mask(value)};
    }
    static I step(I acc, Weights w, I a) {
      const I turned = _mm512_mask_sub_epi8(a, w.negative, _mm512_setzero_si512(), a);
      return add_pairs(acc, _mm512_maddubs_epi16(w.magnitude, turned));
    }
    static I finish(I acc, I) { return acc; }
  };
#endif
};
#endif

}  // namespace
}  // namespace lockstep
