// What attention asks of a K/V type: how elements are stored, and one step of a dot product with
// them. A step takes kPerStep consecutive elements along the reduction: a pair for bf16, odd
// element first, else one.
//
// The operand that a step broadcasts (a query, or the weights of keys) comes in *words* of 4 bytes:
// two bf16 or one f32.
#pragma once

#include "device/cpu/linear_float-inl.h"

namespace lockstep::device::cpu {
namespace {

struct F32Kv {
  using Element = float;   // as a page holds it
  using WordPart = float;  // what words are made of
  using Stored = F;        // one vector of a page, ready for steps
  using Word = F;          // one word in all lanes
  static constexpr int kPerStep = 1;

  static Word broadcast(const void* word) { return Lanes::from_bits(Lanes::broadcast_int(word)); }
  static Stored load(const Element* p) { return Lanes::load(p); }
  static F step(Word a, Stored b, F acc) { return Lanes::fma(a, b, acc); }
  static void store(Element* out, F x) { Lanes::store(out, x); }
  static void store_words(WordPart* out, F x) { Lanes::store(out, x); }
};

struct F16Kv {
  using Element = uint16_t;
  using WordPart = float;
  using Stored = F;
  using Word = F;
  static constexpr int kPerStep = 1;

  static Word broadcast(const void* word) { return F32Kv::broadcast(word); }
  static Stored load(const Element* p) { return Lanes::load_f16(p); }
  static F step(Word a, Stored b, F acc) { return Lanes::fma(a, b, acc); }
  static void store(Element* out, F x) {
#if defined(LOCKSTEP_AVX512)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm512_cvtps_ph(x, 0));
#elif defined(__AVX2__)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm256_cvtps_ph(x, 0));
#else
    *out = f16_from_f32(x);
#endif
  }
  static void store_words(WordPart* out, F x) { Lanes::store(out, x); }
};

struct BF16Kv {
  using Element = uint16_t;
  using WordPart = uint16_t;
  static constexpr int kPerStep = 2;
  static constexpr int32_t kEven = 0x0000ffff;  // of a pair: the lower half
  static constexpr int32_t kOdd = ~kEven;

#if defined(__AVX512BF16__)
  using Stored = __m512bh;
  static Stored pairs(I x) { return reinterpret_cast<Stored>(x); }
  static F step(Stored a, Stored b, F acc) { return _mm512_dpbf16_ps(acc, a, b); }
#else
  struct Stored {
    F even, odd;
  };
  static Stored pairs(I x) {
    return {Lanes::from_bits(Lanes::shl<16>(x)),
            Lanes::from_bits(Lanes::iand(x, Lanes::iset(kOdd)))};
  }
  static F step(Stored a, Stored b, F acc) {
    return Lanes::fma(a.even, b.even, Lanes::fma(a.odd, b.odd, acc));
  }
#endif
  using Word = Stored;
  static Word broadcast(const void* word) { return pairs(Lanes::broadcast_int(word)); }
  static Stored load(const Element* p) { return pairs(Lanes::load_int(p)); }
  // The half of each pair that `keep` covers; the other is +0.
  static Stored load_half(const Element* p, int32_t keep) {
    return pairs(Lanes::iand(Lanes::load_int(p), Lanes::iset(keep)));
  }

  static void store(Element* out, F x) {
#if defined(__AVX512BF16__)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out),
                        reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(x)));
#elif defined(LOCKSTEP_AVX512)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out),
                        _mm512_cvtepi32_epi16(_mm512_srli_epi32(round_to_bf16(x), 16)));
#elif defined(__AVX2__)
    const __m256i high = _mm256_srli_epi32(round_to_bf16(x), 16);
    _mm_storeu_si128(
        reinterpret_cast<__m128i*>(out),
        _mm_packus_epi32(_mm256_castsi256_si128(high), _mm256_extracti128_si256(high, 1)));
#else
    *out = bf16_from_f32(x);
#endif
  }
  static void store_words(WordPart* out, F x) { store(out, x); }
};

}  // namespace
}  // namespace lockstep::device::cpu
