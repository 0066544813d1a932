// Byte-pair encoding of one word: its first symbols, then merges.
//
// Symbols are bytes (GPT-2's kind) or characters (SentencePiece's kind). A character without a
// token is its bytes where the vocabulary has byte tokens, else the unknown token, else lost.
//
// Thread rule: const methods from any thread, each with its own scratch.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/status.h"
#include "base/vocabulary.h"
#include "formats/tokenizer_spec.h"
#include "text/byte_tokens.h"
#include "text/merge_table.h"

namespace lockstep::text {

class BpeModel {
 public:
  struct Scratch {
    std::vector<int32_t> symbols;
    MergeTable::Scratch merging;
  };

  // invalid_argument for merges that contradict themselves or name an id at or past V. REQUIRES
  // texts and kinds of equal number, and that normal tokens are below V (TokenTable::check).
  static StatusOr<BpeModel> create(const formats::TokenizerSpec& spec, Vocabulary vocabulary);

  // Appends the word's ids, each below V. REQUIRES valid UTF-8 of fewer than 2^31 bytes.
  void encode(std::string_view word, Scratch& scratch, std::vector<int32_t>& ids) const;

 private:
  using WholeWords = absl::flat_hash_map<std::string, int32_t, TextHash, std::equal_to<>>;

  void push_bytes(std::string_view word, std::vector<int32_t>& symbols) const;
  void push_characters(std::string_view word, std::vector<int32_t>& symbols) const;
  int32_t token_of(char32_t c) const;

  bool characters_ = false;
  ByteTokens byte_tokens_;  // of symbols that are bytes, or the fallback of characters
  std::array<int32_t, 128> ascii_;
  absl::flat_hash_map<char32_t, int32_t> others_;  // looked up only
  int32_t unknown_ = kNoToken;
  bool fuse_unknown_ = false;
  MergeTable merges_;
  std::optional<WholeWords> whole_words_;  // where they go before merges
};

}  // namespace lockstep::text
