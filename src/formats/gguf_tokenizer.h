// GGUF metadata -> TokenizerSpec. tokenizer.ggml.model: gpt2 (byte-level BPE) and llama
// (SentencePiece's BPE). What a file leaves open is as in llama.cpp (src/llama-vocab.cpp).
#pragma once

#include "base/status.h"
#include "formats/gguf.h"
#include "formats/tokenizer_spec.h"

namespace lockstep::formats {

// not_found when the file has no tokenizer; unimplemented for a kind or a pre-tokenizer that this
// program does not have, by its name; invalid_argument for lists that contradict each other.
// Ids are not compared with the model's vocabulary, nor merges with each other, here: text/ does
// both, for every maker of specs.
StatusOr<TokenizerSpec> tokenizer_from_gguf(const GgufMetadata& metadata);

}  // namespace lockstep::formats
