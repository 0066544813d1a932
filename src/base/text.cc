#include "base/text.h"

#include <fmt/format.h>

#include <cstdint>

namespace lockstep {

size_t utf8_sequence_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const auto within = [&](size_t i, int lo, int hi) {
    return i < text.size() && lo <= byte(i) && byte(i) <= hi;
  };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  if (0xc2 <= lead && lead <= 0xdf) return within(1, 0x80, 0xbf) ? 2 : 0;
  if (0xe0 <= lead && lead <= 0xef) {
    const int lo = lead == 0xe0 ? 0xa0 : 0x80;  // overlong below
    const int hi = lead == 0xed ? 0x9f : 0xbf;  // surrogates above
    return within(1, lo, hi) && within(2, 0x80, 0xbf) ? 3 : 0;
  }
  if (0xf0 <= lead && lead <= 0xf4) {
    const int lo = lead == 0xf0 ? 0x90 : 0x80;
    const int hi = lead == 0xf4 ? 0x8f : 0xbf;
    return within(1, lo, hi) && within(2, 0x80, 0xbf) && within(3, 0x80, 0xbf) ? 4 : 0;
  }
  return 0;
}

size_t valid_utf8_prefix(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t length = utf8_sequence_length(text.substr(at));
    if (length == 0) break;
    at += length;
  }
  return at;
}

bool valid_utf8(std::string_view text) { return valid_utf8_prefix(text) == text.size(); }

std::string quote_text(std::string_view text) {
  constexpr size_t kMaxShown = 64;
  std::string out = "'";
  for (const char c : text.substr(0, kMaxShown)) {
    if (' ' <= c && c <= '~' && c != '\\' && c != '\'') {
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", static_cast<uint8_t>(c));
    }
  }
  if (text.size() > kMaxShown) out += fmt::format("...({} bytes)", text.size());
  return out + "'";
}

}  // namespace lockstep
