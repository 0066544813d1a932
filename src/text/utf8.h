// Code points in UTF-8.
//
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.h"

namespace lockstep::text {

struct CodePoint {
  char32_t value;
  size_t bytes;  // 1 to 4
};

// The first character. A byte that begins none counts as one character of its own, U+FFFD, so loops
// over any bytes end. REQUIRES not empty.
inline CodePoint first_code_point(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<char32_t>(static_cast<uint8_t>(text[i])); };
  switch (utf8_sequence_length(text)) {
    case 1:
      return {byte(0), 1};
    case 2:
      return {(byte(0) & 0x1f) << 6 | (byte(1) & 0x3f), 2};
    case 3:
      return {(byte(0) & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f), 3};
    case 4:
      return {(byte(0) & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 |
                  (byte(3) & 0x3f),
              4};
    default:
      return {0xfffd, 1};
  }
}

// Where the last character begins; a byte that ends none is one of its own. REQUIRES not empty.
inline size_t last_code_point_begin(std::string_view text) {
  for (size_t bytes = 2; bytes <= 4 && bytes <= text.size(); ++bytes) {
    const size_t begin = text.size() - bytes;
    if (utf8_sequence_length(text.substr(begin)) == bytes) return begin;
  }
  return text.size() - 1;
}

// REQUIRES a scalar value: at most U+10FFFF and no surrogate.
inline void append_utf8(std::string& out, char32_t c) {
  const auto put = [&](char32_t byte) { out += static_cast<char>(byte); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | c >> 6);
    put(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    put(0xe0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3f));
    put(0x80 | (c & 0x3f));
  } else {
    put(0xf0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3f));
    put(0x80 | (c >> 6 & 0x3f));
    put(0x80 | (c & 0x3f));
  }
}

inline constexpr std::string_view kReplacementCharacter = "\xef\xbf\xbd";  // U+FFFD

}  // namespace lockstep::text
