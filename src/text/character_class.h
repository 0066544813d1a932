// White space and word characters, as the `tokenizers` package has them.
//
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <string_view>

namespace lockstep::text {

// Unicode's White_Space.
bool is_space(char32_t c);

// A character of \w (UTS 18, annex C): alphabetic, marks, digits, connectors, joiners.
bool is_word_character(char32_t c);

// From `at` back over white space, at most to `stop`.
size_t skip_spaces_left(std::string_view text, size_t at, size_t stop);

// From `at` on over white space.
size_t skip_spaces_right(std::string_view text, size_t at);

}  // namespace lockstep::text
