// Prompt and generation speed of one model on one device, with a digest that says whether two runs
// computed the same thing.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "engine/runner.h"

namespace lockstep::bench {

struct SpeedOptions {
  int prompt_tokens = 512;
  int generated_tokens = 128;
  int repetitions = 5;
};

// Tokens a second of each repetition, in order.
struct SpeedResult {
  std::vector<double> prompt;
  std::vector<double> generation;
  std::string last_logits_digest;  // the same in every repetition, or measure() fails
};

// Token ids are made from integers, so no tokenizer is needed. One repetition is run before and not
// counted. internal_error when two repetitions give different logits.
StatusOr<SpeedResult> measure(engine::Runner& runner, const Vocabulary& vocabulary,
                              const SpeedOptions& options);

// REQUIRES not empty.
double median(std::vector<double> values);

}  // namespace lockstep::bench
