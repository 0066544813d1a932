// What the rows of a model's embedding table stand for: id to bytes, and the few ways back.
//
// Thread rule: immutable after create.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/vocabulary.h"
#include "formats/tokenizer_spec.h"

namespace lockstep::text {

class TokenTable {
 public:
  static constexpr size_t kMaxTokenBytes = size_t{64} << 10;  // one token's text in a file

  // invalid_argument for texts and kinds of unequal number, a text that is too long, an ordinary
  // token at or past V.
  static StatusOr<TokenTable> create(const formats::TokenizerSpec& spec, Vocabulary vocabulary);

  // REQUIRES 0 <= id < V. Ids without a text have no bytes.
  TokenId id(int32_t id) const { return ids_[id]; }
  std::string_view bytes(int32_t id) const {
    const size_t begin = id == 0 ? 0 : ends_[id - 1];
    return {bytes_.data() + begin, ends_[id] - begin};
  }
  bool is_control(int32_t id) const { return control_[id]; }

  // The ordinary token of each single byte, the lowest where there are several; -1 for none.
  std::array<int32_t, 256> byte_tokens() const;

  // The ordinary tokens by their bytes; valid while this table lives, moved or not. Looked up only:
  // its order reaches nothing.
  using ByBytes = absl::flat_hash_map<std::string_view, int32_t, std::hash<std::string_view>,
                                      std::equal_to<std::string_view>>;
  ByBytes ordinary_by_bytes() const;

 private:
  std::vector<TokenId> ids_;    // [V]: the checked form of each id
  std::vector<uint32_t> ends_;  // [V]: of each id's bytes; they begin where the previous ones end
  std::vector<bool> control_;   // [V]
  std::vector<bool> ordinary_;  // [V]
  std::vector<char> bytes_;     // not a string: views stay valid when the table moves
};

}  // namespace lockstep::text
