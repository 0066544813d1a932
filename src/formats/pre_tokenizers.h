// The regexes behind the names of pre-tokenizers.
//
// Thread rule: pure functions.
#pragma once

#include <span>
#include <string_view>

#include "formats/tokenizer_spec.h"

namespace lockstep::formats {

// A character that the Digits pre-tokenizer takes for a digit: a number of Unicode 17, of which
// \p{N} lacks the last two ranges.
inline constexpr std::string_view kNumberRegex = R"([\p{N}\x{11de0}-\x{11de9}\x{16ff4}-\x{16ff6}])";

// Empty for kCustom.
std::span<const Split> splits_of(PreTokenizer pre);

// The name of exactly these splits; kCustom for any others.
PreTokenizer recognise_splits(std::span<const Split> splits);

// Whether the regex stands in one of the named sets.
bool is_known_regex(std::string_view regex);

}  // namespace lockstep::formats
