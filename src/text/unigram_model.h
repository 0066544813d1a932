// The unigram model: of all ways to cut a word into tokens, the one of the highest sum of scores
// (Viterbi; https://arxiv.org/abs/1804.10959).
//
// A character that no token begins with alone counts 10 less than the lowest score. Unknown
// characters that touch are one unknown token, or their bytes where the vocabulary has byte tokens.
// Sums are in double, left to right; of equal sums the one whose last token begins first stands.
//
// Thread rule: const methods from any thread, each with its own scratch.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/vocabulary.h"
#include "formats/tokenizer_spec.h"
#include "text/byte_tokens.h"
#include "text/byte_trie.h"

namespace lockstep::text {

class UnigramModel {
 public:
  // Longest token, which bounds the work at each byte.
  static constexpr size_t kMaxTokenBytes = 1024;

  // The best way to each byte of a word: its sum, its last token and where that begins.
  struct Step {
    double score;
    int32_t token;
    uint32_t begin;
  };
  struct Scratch {
    std::vector<Step> steps;
    std::vector<size_t> ends;
  };

  // invalid_argument for scores that are not one finite number a token, for no unknown token, for
  // a token that is too long or there twice. REQUIRES texts and kinds of equal number, and that
  // normal tokens and unknown_id are below V.
  static StatusOr<UnigramModel> create(const formats::TokenizerSpec& spec);

  // Appends the word's ids, each below V. REQUIRES valid UTF-8 of fewer than 2^31 bytes.
  void encode(std::string_view word, Scratch& scratch, std::vector<int32_t>& ids) const;

 private:
  void find_best(std::string_view word, std::vector<Step>& steps) const;

  ByteTrie tokens_;
  std::vector<double> scores_;  // [id]
  double unknown_score_ = 0;
  int32_t unknown_ = kNoToken;
  ByteTokens byte_tokens_;
};

}  // namespace lockstep::text
