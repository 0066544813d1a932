// How one token is drawn from one row of logits. A checked value: limits are applied where the
// request enters (SamplingParams::create), so kernels take it as it is.
//
// The definition, in this order: top-k, temperature, top-p, min-p, then
// argmax over the kept ids of logit / temperature + gumbel(hash(seed, position, id)).
// Ties go to the lowest id. Temperature 0 is arg-max of the logits. See docs/numerics.md.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace lockstep {

struct SamplingFields {
  double temperature = 0.0;  // 0 (greedy) or [1e-3, 100]
  int64_t top_k = 0;         // 0 or -1: off
  double top_p = 1.0;        // (0, 1]; 1: off
  double min_p = 0.0;        // [0, 1]; 0: off
  uint64_t seed = 0;
};

class SamplingParams {
 public:
  // invalid_argument naming the field, its value and the allowed range.
  static StatusOr<SamplingParams> create(const SamplingFields& fields);
  static SamplingParams greedy() { return SamplingParams(); }

  float temperature() const { return temperature_; }
  int32_t top_k() const { return top_k_; }  // 0: off
  float top_p() const { return top_p_; }
  float min_p() const { return min_p_; }
  uint64_t seed() const { return seed_; }

 private:
  SamplingParams() = default;
  float temperature_ = 0.0f;
  int32_t top_k_ = 0;
  float top_p_ = 1.0f;
  float min_p_ = 0.0f;
  uint64_t seed_ = 0;
};

}  // namespace lockstep
