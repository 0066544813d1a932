#include "text/byte_alphabet.h"

#include "text/utf8.h"

namespace lockstep::text {
namespace {

constexpr char32_t kEnd = 0x144;

constexpr bool prints_in_latin1(int byte) {
  return (0x21 <= byte && byte <= 0x7e) || (0xa1 <= byte && byte <= 0xac) || 0xae <= byte;
}

constexpr std::array<char32_t, 256> make_alphabet() {
  std::array<char32_t, 256> alphabet{};
  char32_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    alphabet[byte] = prints_in_latin1(byte) ? static_cast<char32_t>(byte) : next++;
  }
  return alphabet;
}
constexpr std::array<char32_t, 256> kAlphabet = make_alphabet();

constexpr std::array<int16_t, kEnd> make_inverse() {
  std::array<int16_t, kEnd> inverse{};
  inverse.fill(-1);
  for (int byte = 0; byte < 256; ++byte) inverse[kAlphabet[byte]] = static_cast<int16_t>(byte);
  return inverse;
}
constexpr std::array<int16_t, kEnd> kInverse = make_inverse();

}  // namespace

const std::array<char32_t, 256>& byte_alphabet() { return kAlphabet; }

std::optional<std::string> bytes_from_alphabet(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  while (!text.empty()) {
    const CodePoint c = first_code_point(text);
    if (c.value >= kEnd || kInverse[c.value] < 0) return std::nullopt;
    bytes += static_cast<char>(kInverse[c.value]);
    text.remove_prefix(c.bytes);
  }
  return bytes;
}

}  // namespace lockstep::text
