#include "text/byte_tokens.h"

#include <algorithm>
#include <string>

#include "text/byte_alphabet.h"

namespace lockstep::text {
namespace {

template <class ByteOf>
ByteTokens lowest_tokens(const formats::TokenizerSpec& spec, ByteOf byte_of) {
  ByteTokens tokens;
  tokens.fill(kNoToken);
  for (size_t id = spec.token_texts.size(); id-- > 0;) {
    if (!is_model_token(spec.token_kinds[id])) continue;
    if (const std::optional<uint8_t> byte = byte_of(spec.token_texts[id])) {
      tokens[*byte] = static_cast<int32_t>(id);
    }
  }
  return tokens;
}

std::optional<uint8_t> byte_of_alphabet_text(std::string_view text) {
  constexpr size_t kMostBytesOfACharacter = 2;  // of the alphabet
  if (text.empty() || text.size() > kMostBytesOfACharacter) return std::nullopt;
  const auto bytes = bytes_from_alphabet(text);
  if (!bytes.has_value() || bytes->size() != 1) return std::nullopt;
  return static_cast<uint8_t>((*bytes)[0]);
}

}  // namespace

std::optional<uint8_t> byte_of_fallback_text(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return std::nullopt;
  const size_t high = kDigits.find(text[3]);
  const size_t low = kDigits.find(text[4]);
  if (high == kDigits.npos || low == kDigits.npos) return std::nullopt;
  return static_cast<uint8_t>(high * 16 + low);
}

ByteTokens alphabet_byte_tokens(const formats::TokenizerSpec& spec) {
  return lowest_tokens(spec, byte_of_alphabet_text);
}

ByteTokens fallback_byte_tokens(const formats::TokenizerSpec& spec) {
  return lowest_tokens(spec, byte_of_fallback_text);
}

bool append_byte_tokens(const ByteTokens& tokens, std::string_view bytes,
                        std::vector<int32_t>& ids) {
  const auto token_of = [&](char c) { return tokens[static_cast<uint8_t>(c)]; };
  const bool all = std::ranges::all_of(bytes, [&](char c) { return token_of(c) != kNoToken; });
  if (all) std::ranges::transform(bytes, std::back_inserter(ids), token_of);
  return all;
}

bool is_model_token(formats::TokenKind kind) {
  return kind == formats::TokenKind::kNormal || kind == formats::TokenKind::kByte;
}

}  // namespace lockstep::text
