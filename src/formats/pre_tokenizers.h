// The regexes behind the names of pre-tokenizers.
//
// Thread rule: pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "formats/tokenizer_spec.h"

namespace lockstep::formats {

// A character that the Digits pre-tokenizer takes for a digit: a number of Unicode 17, of which
// \p{N} lacks the last two ranges.
inline constexpr std::string_view kNumberRegex = R"([\p{N}\x{11de0}-\x{11de9}\x{16ff4}-\x{16ff6}])";

// A character that the Punctuation pre-tokenizer takes for punctuation: all of ASCII's and \p{P}.
inline constexpr std::string_view kPunctuationRegex = R"([\p{P}$+<=>\^`|~])";

// GPT-2's words, which are what ByteLevel cuts.
inline constexpr std::string_view kGpt2Words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// By the name that GGUF files have for it (tokenizer.ggml.pre); null for one that is not known.
const std::vector<Split>* splits_named(std::string_view name);

// All names, for errors.
std::string pre_tokenizer_names();

// Whether the regex stands in one of the named sets.
bool is_known_regex(std::string_view regex);

}  // namespace lockstep::formats
