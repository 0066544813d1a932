// GPT-2's alphabet: one printable character for each of the 256 bytes, so that token texts of a
// byte-level vocabulary can be written in files as text.
//
// Bytes that print in Latin-1 stand for themselves; the other 68, in order, are U+0100 and up.
//
// Thread rule: pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep::text {

// The character of each byte; all below U+0144.
const std::array<char32_t, 256>& byte_alphabet();

// The bytes that a text in the alphabet stands for; empty where a character is not in it.
std::optional<std::string> bytes_from_alphabet(std::string_view text);

}  // namespace lockstep::text
