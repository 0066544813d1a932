// What the rows of a model's embedding table stand for: id to the bytes of decoded text.
//
// Thread rule: immutable after create.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/vocabulary.h"
#include "formats/tokenizer_spec.h"

namespace lockstep::text {

class TokenTable {
 public:
  static constexpr size_t kMaxTokenBytes = size_t{64} << 10;  // one token's text in a file
  static constexpr size_t kMaxTableBytes = size_t{1} << 30;   // all decoded texts

  // invalid_argument for texts and kinds of unequal number, a text that is too long, an ordinary
  // token at or past V.
  static Status check(const formats::TokenizerSpec& spec, Vocabulary vocabulary);

  // The same, and for a decoder that cannot be followed.
  static StatusOr<TokenTable> create(const formats::TokenizerSpec& spec, Vocabulary vocabulary);

  // REQUIRES 0 <= id < V. Ids without a text have no bytes.
  TokenId id(int32_t id) const { return ids_[id]; }
  std::string_view bytes(int32_t id) const {
    const size_t begin = id == 0 ? 0 : ends_[id - 1];
    return {bytes_.data() + begin, ends_[id] - begin};
  }
  bool is_control(int32_t id) const { return control_[id]; }
  // Whether its spaces go where it is the first of a text (Metaspace).
  bool loses_spaces_at_front(int32_t id) const { return !marked_.empty() && marked_[id]; }
  // Spaces that go at the front of a whole text, whichever token they come from.
  int spaces_stripped_at_front() const { return stripped_; }

 private:
  std::vector<TokenId> ids_;    // [V]: the checked form of each id
  std::vector<uint32_t> ends_;  // [V]: of each id's bytes; they begin where the previous ones end
  std::vector<bool> control_;   // [V]
  std::vector<bool> marked_;    // [V], or empty
  std::vector<char> bytes_;     // not a string: views stay valid when the table moves
  int stripped_ = 0;
};

}  // namespace lockstep::text
