// The sums that docs/numerics.md is made of.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace lockstep::device::reference {

inline constexpr int64_t kSlice = 512;
inline constexpr int kLanes = 16;

// One chain from +0, k ascending.
inline float dot_ascending(const float* a, const float* w, int64_t n) {
  float acc = 0.0f;
  for (int64_t k = 0; k < n; ++k) acc = std::fma(a[k], w[k], acc);
  return acc;
}

// One chain from +0 over pairs, odd element first; a missing partner is the term +0 x +0.
inline float dot_pairs(const float* a, const float* w, int64_t n) {
  float acc = 0.0f;
  for (int64_t k = 0; k < n; k += 2) {
    const bool partner = k + 1 < n;
    acc = std::fma(partner ? a[k + 1] : 0.0f, partner ? w[k + 1] : 0.0f, acc);
    acc = std::fma(a[k], w[k], acc);
  }
  return acc;
}

// K in slices of 512 from 0, the last one shorter; slice sums are added in ascending order.
// chain(first, count) is the sum of one slice.
template <class Chain>
float sum_slices(int64_t inputs, const Chain& chain) {
  float total = chain(int64_t{0}, inputs < kSlice ? inputs : kSlice);
  for (int64_t k = kSlice; k < inputs; k += kSlice) {
    total += chain(k, inputs - k < kSlice ? inputs - k : kSlice);
  }
  return total;
}

// A row reduction: 16 lanes from +0, then one tree.
class SixteenLanes {
 public:
  float& lane(int64_t element) { return lanes_[static_cast<size_t>(element % kLanes)]; }

  float tree() {
    for (size_t half : {8, 4, 2, 1}) {
      for (size_t j = 0; j < half; ++j) lanes_[j] += lanes_[j + half];
    }
    return lanes_[0];
  }

 private:
  std::array<float, kLanes> lanes_{};
};

}  // namespace lockstep::device::reference
