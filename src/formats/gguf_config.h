// GGUF metadata and tensor shapes -> ModelConfig. general.architecture: llama, qwen2,
// qwen3, gemma2, gemma3.
//
// V is the number of rows of token_embd.weight; <arch>.vocab_size and output.weight must agree with
// it. The token list may be shorter (ids without a text are legal); text/ refuses a longer one.
#pragma once

#include "base/status.h"
#include "formats/gguf.h"
#include "formats/model_config.h"

namespace lockstep::formats {

// invalid_argument naming the key; unimplemented for an architecture or rope type that this program
// does not have, with the list of those it has.
StatusOr<ModelConfig> config_from_gguf(const GgufContents& gguf);

}  // namespace lockstep::formats
