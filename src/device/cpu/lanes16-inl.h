// The 16 lanes and the tree of row reductions (docs/numerics.md), on any vector width.
//
// Only sums of terms that are never negative: lanes past the end of a row then take +0, which
// changes no bit.
#pragma once

#include "device/cpu/linear_panel-inl.h"

namespace lockstep::device::cpu {
namespace {

struct Lanes16 {
  static constexpr int kParts = 16 / Lanes::kLanes;
  F part[kParts];

  Lanes16() {
    for (F& p : part) p = Lanes::zero();
  }

  // Lane j adds lane j + 8, then + 4, + 2, + 1.
  float tree() const {
    alignas(64) float lane[16];
    for (int i = 0; i < kParts; ++i) Lanes::store(lane + i * Lanes::kLanes, part[i]);
    for (int width = 8; width > 0; width /= 2) {
      for (int j = 0; j < width; ++j) lane[j] += lane[j + width];
    }
    return lane[0];
  }
};

}  // namespace
}  // namespace lockstep::device::cpu
