// A tokenizer as data, checked: what text/ builds an encoder from. Makers: GGUF metadata
// (gguf_tokenizer.h) and, later, tokenizer.json.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::formats {

enum class TokenKind : uint8_t { kNormal, kUnknown, kControl, kUserDefined, kUnused, kByte };

// How text is cut into words before merging.
enum class PreTokenizer : uint8_t { kGpt2, kSmolLm, kLlama3, kQwen2 };

struct SpecialToken {
  int64_t id = 0;
  std::string text;
  bool control = false;  // hidden when decoding without specials
};

// Byte-level BPE (GPT-2 alphabet). token_texts[i] is the text of id i in that alphabet, except for
// control and user-defined tokens, whose text is plain.
struct TokenizerSpec {
  PreTokenizer pre = PreTokenizer::kGpt2;
  std::vector<std::string> token_texts;
  std::vector<TokenKind> token_kinds;               // same length
  std::vector<std::pair<int32_t, int32_t>> merges;  // ids of the two parts, in rank order
  std::vector<int32_t> merge_results;               // same length
  std::vector<SpecialToken> specials;               // matched in text before cutting
  bool add_bos = false;
  bool add_eos = false;
  bool add_space_prefix = false;
  int64_t bos_id = -1;  // -1: none
  int64_t eos_id = -1;
  int64_t unknown_id = -1;
};

}  // namespace lockstep::formats
