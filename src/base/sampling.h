// How one token is drawn from one row of logits. Checked values: limits are applied where the
// request enters, so kernels take them as they are.
//
// The definition, in this order: edits (penalties, biases, bans, the allowed set), top-k,
// temperature, top-p, min-p, then argmax over the kept ids of
// logit / temperature + gumbel(hash(seed, position, id)). Ties go to the lowest id. Temperature 0
// is arg-max of the edited logits. See docs/numerics.md.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "base/token_set.h"
#include "base/vocabulary.h"

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

// Choice i of a request draws with this seed, so that it can be asked for alone.
uint64_t choice_seed(uint64_t seed, int choice);

// A token that the text so far has in the window of the penalties.
struct TokenUse {
  TokenId token;
  int32_t in_reply = 0;  // times that the reply has it; 0: only the prompt has
};

struct TokenBias {
  TokenId token;
  float bias = 0.0f;
};

// What happens to the logits of one row before the draw; the row itself stays as it is. Each id at
// most once in a list. Borrowed: the lists outlive the step.
struct LogitEdits {
  float repetition = 1.0f;  // of every token used: x > 0 ? x / repetition : x * repetition
  float frequency = 0.0f;   // then x - frequency * in_reply
  float presence = 0.0f;    // and x - presence where in_reply > 0
  std::span<const TokenUse> used;
  std::span<const TokenBias> biases;
  std::span<const TokenId> banned;
  const TokenSet* allowed = nullptr;  // null: all. Not empty.

  bool none() const {
    const bool penalties = repetition != 1.0f || frequency != 0.0f || presence != 0.0f;
    return (!penalties || used.empty()) && biases.empty() && banned.empty() && allowed == nullptr;
  }
};

struct RowSampling {
  SamplingParams params = SamplingParams::greedy();
  LogitEdits edits;
};

}  // namespace lockstep
