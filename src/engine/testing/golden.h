// Test helper: what an outside implementation computed for a tiny checkpoint
// (tests/goldens/README.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats/safetensors.h"

namespace lockstep::engine::testing {

inline constexpr int kGoldenPrompts = 5;
// Largest difference that f32 arithmetic in another order makes there.
inline constexpr double kF32Bound = 2e-4;

std::string golden_path(const std::string& family);

class Golden {
 public:
  explicit Golden(const std::string& family);

  std::vector<int64_t> ids(const std::string& name) const;   // "tokens_0", "greedy_tokens"
  std::vector<float> floats(const std::string& name) const;  // "logits_0", "greedy_margin"

 private:
  formats::SafetensorsModel file_;
};

// Largest difference over the last rows, as many as the golden file keeps; NaN where there is one.
double largest_difference(const std::vector<float>& ours, const std::vector<float>& golden);

}  // namespace lockstep::engine::testing
