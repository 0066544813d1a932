// The regexes behind the names of pre-tokenizers.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/tokenizer_spec.h"

namespace lockstep::formats {

// A character that the Digits pre-tokenizer takes for a digit: a number of Unicode 17, of which
// \p{N} lacks the last two ranges.
inline constexpr std::string_view kNumberRegex = R"([\p{N}\x{11de0}-\x{11de9}\x{16ff4}-\x{16ff6}])";

// A character that the Punctuation pre-tokenizer takes for punctuation: ASCII's, and \p{P} of
// Unicode 8.
inline constexpr std::string_view kPunctuationRegex =
    R"((?![\x{61d}\x{9fd}-\x{a76}\x{c77}-\x{c84}\x{1b4e}-\x{1b4f}\x{1b7d}-\x{1b7f})"
    R"(\x{2e43}-\x{2e5d}\x{10d6e}\x{10ead}-\x{10f89}\x{113d4}-\x{113d8}\x{1144b}-\x{1145d})"
    R"(\x{11660}-\x{116b9}\x{1183b}-\x{11fff}\x{12ff1}-\x{12ff2}\x{16d6d}-\x{16d6f})"
    R"(\x{16e97}-\x{16fe2}\x{1e5ff}\x{1e95e}-\x{1e95f}]))"
    R"([\p{P}$+<=>\^`|~\x{166d}\x{111c9}])";

// GPT-2's words, which are what ByteLevel cuts.
inline constexpr std::string_view kGpt2Words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// What a GGUF file's name of a pre-tokenizer (tokenizer.ggml.pre) stands for.
struct NamedPreTokenizer {
  std::vector<std::string_view> names;
  std::vector<Split> splits;
  bool ignore_merges = false;  // a word that is a token is taken whole
  bool add_bos = false;        // where the file does not say
};

// Null for a name that is not known.
const NamedPreTokenizer* find_pre_tokenizer(std::string_view name);

// All names, for errors.
std::string pre_tokenizer_names();

// Whether the regex stands in one of the named sets.
bool is_known_regex(std::string_view regex);

}  // namespace lockstep::formats
