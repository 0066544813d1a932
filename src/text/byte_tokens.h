// The token of each single byte.
//
// Thread rule: pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "formats/tokenizer_spec.h"

namespace lockstep::text {

inline constexpr int32_t kNoToken = -1;

using ByteTokens = std::array<int32_t, 256>;  // kNoToken for none

// <0xHH>, two upper-case digits: how vocabularies of characters write a byte.
std::optional<uint8_t> byte_of_fallback_text(std::string_view text);

// The lowest model token that is one byte in GPT-2's alphabet.
ByteTokens alphabet_byte_tokens(const formats::TokenizerSpec& spec);

// The lowest model token <0xHH>.
ByteTokens fallback_byte_tokens(const formats::TokenizerSpec& spec);

// Appends the tokens of all the bytes; false, appending nothing, where one has none.
bool append_byte_tokens(const ByteTokens& tokens, std::string_view bytes,
                        std::vector<int32_t>& ids);

// Whether the model can make it out of text.
bool is_model_token(formats::TokenKind kind);

}  // namespace lockstep::text
