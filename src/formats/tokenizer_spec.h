// A tokenizer as data, checked: what text/ builds an encoder from. Makers: GGUF metadata
// (gguf_tokenizer.h) and, later, tokenizer.json.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::formats {

enum class TokenKind : uint8_t { kNormal, kUnknown, kControl, kUserDefined, kUnused, kByte };

// How text is cut into words before merging: a set of splits that has a name, or its own.
enum class PreTokenizer : uint8_t { kGpt2, kSmolLm, kLlama3, kQwen2, kCustom };

// What becomes of a split's matches; text between matches is always a word of its own.
enum class SplitBehavior : uint8_t {
  kIsolated,  // each a word
  kRemoved,
  kMergedWithPrevious,  // joined to the text before
  kMergedWithNext,
  kContiguous,  // as isolated, but matches that touch are one word
};

struct Split {
  std::string regex;  // unchecked: text/ compiles it within limits
  SplitBehavior behavior = SplitBehavior::kIsolated;
  bool invert = false;  // the text between takes the matches' part

  friend bool operator==(const Split&, const Split&) = default;
};

enum class Normalization : uint8_t { kNfc, kNfd, kNfkc, kNfkd };

struct SpecialToken {
  int64_t id = 0;
  std::string text;
  bool control = false;  // hidden when decoding without specials
  // As in tokenizer.json: take the white space beside a match into it; match whole words only;
  // match in normalised text.
  bool strip_left = false;
  bool strip_right = false;
  bool single_word = false;
  bool normalized = false;
};

// Byte-level BPE (GPT-2 alphabet). token_texts[i] is the text of id i in that alphabet, except for
// control and user-defined tokens, whose text is plain.
struct TokenizerSpec {
  std::vector<Normalization> normalizations;  // in order
  PreTokenizer pre = PreTokenizer::kGpt2;
  std::vector<Split> splits;  // kCustom only, each cutting the words of the one before
  std::vector<std::string> token_texts;
  std::vector<TokenKind> token_kinds;               // same length
  std::vector<std::pair<int32_t, int32_t>> merges;  // ids of the two parts, in rank order
  std::vector<int32_t> merge_results;               // same length
  std::vector<SpecialToken> specials;               // matched in text before cutting
  bool ignore_merges = false;  // a word that is a token is taken whole, whatever its merges
  bool add_bos = false;
  bool add_eos = false;
  bool add_space_prefix = false;  // a text that does not start with a space gets one
  int64_t bos_id = -1;            // -1: none
  int64_t eos_id = -1;
  int64_t unknown_id = -1;
  // Stands for a byte that has no token of its own (SmolLM2 lacks 21 bytes); -1: the byte is lost.
  int64_t missing_byte_id = -1;
};

}  // namespace lockstep::formats
