// Python's string operations on traced text: each byte of a result keeps the origin of the byte it
// comes from. Positions and lengths count code points, as in Python.
//
// Upper, lower and title case are Unicode's simple mappings, and "SS" and "Ss" for U+00DF.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "text/jinja/traced_text.h"

namespace lockstep::text::jinja {

int64_t code_points(std::string_view text);

// Python's s[start:stop:step] on a length, as indices. REQUIRES step != 0.
struct SliceRange {
  int64_t begin = 0;
  int64_t step = 1;
  int64_t count = 0;
};
SliceRange slice_range(std::optional<int64_t> start, std::optional<int64_t> stop, int64_t step,
                       int64_t length);
TracedText slice(const TracedText& text, const SliceRange& range);

// Each character as a text of its own.
std::vector<TracedText> characters(const TracedText& text);

enum class Side : uint8_t { kLeft, kRight, kBoth };
// Characters of `set`, or white space.
TracedText strip(const TracedText& text, std::optional<std::string_view> set, Side side);

// At runs of white space, or at each separator; at most `most` cuts (-1: no limit), counted from
// the right for split_right. REQUIRES: separator not empty.
std::vector<TracedText> split(const TracedText& text, std::optional<std::string_view> separator,
                              int64_t most);
std::vector<TracedText> split_right(const TracedText& text,
                                    std::optional<std::string_view> separator, int64_t most);
std::vector<TracedText> split_lines(const TracedText& text, bool keep_ends);
// At least as many as the pieces that split without a separator and split_lines give.
int64_t count_words(std::string_view text);
int64_t count_lines(std::string_view text);

// Occurrences, left to right, none overlapping; an empty `what` occurs around every character.
int64_t count_occurrences(std::string_view text, std::string_view what);
// The first `most` of them (-1: all).
TracedText replace(const TracedText& text, std::string_view what, const TracedText& with,
                   int64_t most);

TracedText upper(const TracedText& text);
TracedText lower(const TracedText& text);
TracedText capitalize(const TracedText& text);  // first character upper, the others lower
TracedText title(const TracedText& text);       // each run of letters capitalized
TracedText swap_case(const TracedText& text);

bool is_letter(char32_t c);
bool is_digit(char32_t c);    // a decimal one, of any script
bool is_numeric(char32_t c);  // a digit, a fraction, a numeral
bool is_cased_upper(char32_t c);
bool is_cased_lower(char32_t c);

}  // namespace lockstep::text::jinja
