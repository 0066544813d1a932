// Log probabilities of a row's own distribution: before edits, temperature and filters.
//
//   m = largest logit;  s = sum of exp(x - m), 16 lanes over the ids, then the tree
//   logprob(id) = (x - m) - log(s)
//
// NaN logits have no part in it; their logprob is -infinity, and so is every one of a row of NaN
// alone. REQUIRES the mode of ComputeScope.
#pragma once

#include <span>
#include <vector>

#include "base/vocabulary.h"
#include "device/sampler.h"

namespace lockstep::device {

struct TokenLogprob {
  TokenId token;
  float logprob = 0.0f;
};

class RowLogprobs {
 public:
  // Borrows the row.
  explicit RowLogprobs(std::span<const float> logits, ExpRow exp = exp_row);

  float of(TokenId token) const;
  // The likeliest, in order; ties go to the lowest id. Fewer than `count` where the row has fewer.
  std::vector<TokenLogprob> top(int count) const;

 private:
  std::span<const float> logits_;
  float largest_;
  float log_sum_;
};

}  // namespace lockstep::device
