// Added tokens: texts that become one token wherever they stand, before the text between is cut
// into words. Control tokens (turn markers) are matched in template text only.
//
// At each byte, left to right, the longest one wins; one that must be a whole word and is not hides
// the shorter ones. Flags as in tokenizer.json.
//
// Thread rule: const methods from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "formats/tokenizer_spec.h"
#include "text/byte_range.h"

namespace lockstep::text {

// A stretch of text: an added token's, or one between them.
struct TextPiece {
  size_t begin;
  size_t end;
  const formats::SpecialToken* token;  // null: between
};

class AddedTokens {
 public:
  static constexpr size_t kMaxTokens = 1 << 18;
  // Longest text of one: bounds the work at each byte.
  static constexpr size_t kMaxTextBytes = 256;

  // invalid_argument for a text that is empty, too long or there twice.
  static StatusOr<AddedTokens> create(std::vector<formats::SpecialToken> tokens);

  // Replaces `pieces` by all of the text, in order. Control tokens are matched inside one of
  // `control_ranges` (ascending, apart) only. Pieces of white space that a token's flags take in
  // belong to the token.
  void cut(std::string_view text, std::span<const ByteRange> control_ranges,
           std::vector<TextPiece>& pieces) const;

  bool empty() const { return tokens_.empty(); }

 private:
  const formats::SpecialToken* longest_match(std::string_view text, size_t at,
                                             size_t control_end) const;
  std::vector<formats::SpecialToken> tokens_;  // by text
  // Tokens that begin with byte b: [first_[b], first_[b + 1]).
  std::array<uint32_t, 257> first_{};
};

}  // namespace lockstep::text
