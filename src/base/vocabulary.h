// TokenId: a token id that is known to be a row of the model's embedding table.
//
// Vocabulary::admit is the one door for ids from outside (prompts, --ids files, stop ids, biases,
// drafts, peers). The inside takes TokenIds and never looks again. The only other maker is
// SampledToken, whose id is an index into a row of V logits and so in range by construction.
//
// Thread rule: immutable values.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"

namespace lockstep {

class TokenId {
 public:
  int32_t value() const { return value_; }
  friend bool operator==(TokenId a, TokenId b) { return a.value_ == b.value_; }
  friend bool operator<(TokenId a, TokenId b) { return a.value_ < b.value_; }

 private:
  friend class Vocabulary;
  friend class SampledToken;
  explicit TokenId(int32_t value) : value_(value) {}
  int32_t value_;
};

// V = rows of the embedding table = configured vocab_size = rows of the head.
class Vocabulary {
 public:
  static constexpr int64_t kMaxSize = int64_t{1} << 22;  // largest published table is near 2^18

  static StatusOr<Vocabulary> create(int64_t size);

  int32_t size() const { return size_; }

  // 0 <= id < V, else out_of_range naming the id and the range. Ids without a text are legal.
  StatusOr<TokenId> admit(int64_t id) const;

  // All ids, or the error of the first bad one with its index.
  StatusOr<std::vector<TokenId>> admit_all(std::span<const int64_t> ids) const;

 private:
  explicit Vocabulary(int32_t size) : size_(size) {}
  int32_t size_;
};

// What a sampler returns: an index into one row of V logits, made where the row was read.
class SampledToken {
 public:
  // REQUIRES: index is a column of a row of the model's logits.
  static TokenId from_logit_index(int32_t index) { return TokenId(index); }
};

}  // namespace lockstep
