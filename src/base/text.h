// Text from outside: is it UTF-8, and how is it shown in an error.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lockstep {

// Well-formed UTF-8 (RFC 3629): no overlong forms, surrogates or code points past U+10FFFF.
bool valid_utf8(std::string_view text);

// Bytes of the well-formed sequence at the front of text, 1 to 4; 0 for none. REQUIRES not empty.
size_t utf8_sequence_length(std::string_view text);

// The first byte that is not part of well-formed UTF-8; text.size() where all of it is.
size_t valid_utf8_prefix(std::string_view text);

// In single quotes, cut after 64 bytes, everything but printable ASCII as \xNN: a hostile name
// cannot break a log line, move a terminal's cursor or make an error long.
std::string quote_text(std::string_view text);

}  // namespace lockstep
