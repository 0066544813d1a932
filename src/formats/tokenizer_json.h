// tokenizer.json (https://github.com/huggingface/tokenizers) of the byte-level BPE kind to a
// TokenizerSpec. Other kinds, and parts of a file that this program cannot follow exactly, are
// refused by name: a tokenizer that is nearly right is a wrong prompt.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "formats/tokenizer_spec.h"

namespace lockstep::formats {

inline constexpr uint64_t kMaxTokenizerJsonBytes = uint64_t{64} << 20;
inline constexpr uint64_t kMaxTokenizerConfigBytes = uint64_t{4} << 20;

// invalid_argument for a broken file, unimplemented for a kind that is not supported.
StatusOr<TokenizerSpec> parse_tokenizer_json(std::string_view json);

// Sets BOS and EOS by the names that tokenizer_config.json gives them; names without a token are
// left alone, as the file then belongs to a model that has none.
Status apply_tokenizer_config(std::string_view json, TokenizerSpec& spec);

}  // namespace lockstep::formats
