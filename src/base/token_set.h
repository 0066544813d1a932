// A set of token ids: one bit for each row of the vocabulary.
//
// Thread rule: as a container.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/vocabulary.h"

namespace lockstep {

class TokenSet {
 public:
  TokenSet(Vocabulary vocabulary, std::span<const TokenId> tokens)
      : words_((static_cast<size_t>(vocabulary.size()) + 63) / 64, 0) {
    for (const TokenId token : tokens) insert(token);
  }

  void insert(TokenId token) { words_[word(token.value())] |= bit(token.value()); }
  bool contains(TokenId token) const { return contains(token.value()); }
  // REQUIRES an index into a row of logits.
  bool contains(int32_t index) const { return (words_[word(index)] & bit(index)) != 0; }

  // Word i holds the bits of ids [64 i, 64 i + 64), the lowest first; for devices that copy it.
  std::span<const uint64_t> words() const { return words_; }

 private:
  static size_t word(int32_t id) { return static_cast<size_t>(id) / 64; }
  static uint64_t bit(int32_t id) { return uint64_t{1} << (static_cast<unsigned>(id) % 64); }

  std::vector<uint64_t> words_;
};

}  // namespace lockstep
