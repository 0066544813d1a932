// The 16 lanes and the tree of row reductions (docs/numerics.md), on any vector width.
//
// Only sums of terms that are never negative: lanes past the end of a row then take +0, which
// changes no bit.
#pragma once

#include "device/cpu/linear_panel-inl.h"

namespace lockstep::device::cpu {
namespace {

#if defined(__AVX2__)
inline __m128 lower(__m256 x) { return _mm256_castps256_ps128(x); }
inline __m128 upper(__m256 x) { return _mm256_extractf128_ps(x, 1); }
inline __m128 lanes_2_3(__m128 x) { return _mm_movehl_ps(x, x); }
inline __m128 lane_1(__m128 x) { return _mm_movehdup_ps(x); }
#endif
#if defined(LOCKSTEP_AVX512)
inline __m256 lower(__m512 x) { return _mm512_castps512_ps256(x); }
inline __m256 upper(__m512 x) { return _mm512_extractf32x8_ps(x, 1); }
#endif

struct Lanes16 {
  static constexpr int kParts = 16 / Lanes::kLanes;
  F part[kParts];

  Lanes16() {
    for (F& p : part) p = Lanes::zero();
  }

  // Lane j adds lane j + 8, then + 4, + 2, + 1.
  float tree() const {
#if defined(__AVX2__)
#if defined(LOCKSTEP_AVX512)
    const __m256 eight = _mm256_add_ps(lower(part[0]), upper(part[0]));
#else
    const __m256 eight = _mm256_add_ps(part[0], part[1]);
#endif
    const __m128 four = _mm_add_ps(lower(eight), upper(eight));
    const __m128 two = _mm_add_ps(four, lanes_2_3(four));
    return _mm_cvtss_f32(_mm_add_ss(two, lane_1(two)));
#else
    float lane[16];
    for (int j = 0; j < 16; ++j) lane[j] = part[j];
    for (int width = 8; width > 0; width /= 2) {
      for (int j = 0; j < width; ++j) lane[j] += lane[j + width];
    }
    return lane[0];
#endif
  }
};

// The largest lane. Which one of equal zeros, or what beside a NaN, is left open.
inline float largest_lane(F x) {
#if defined(__AVX2__)
#if defined(LOCKSTEP_AVX512)
  const __m256 eight = _mm256_max_ps(lower(x), upper(x));
#else
  const __m256 eight = x;
#endif
  const __m128 four = _mm_max_ps(lower(eight), upper(eight));
  const __m128 two = _mm_max_ps(four, lanes_2_3(four));
  return _mm_cvtss_f32(_mm_max_ss(two, lane_1(two)));
#else
  return x;
#endif
}

}  // namespace
}  // namespace lockstep::device::cpu
