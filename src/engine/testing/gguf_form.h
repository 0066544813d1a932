// Test helper: a Hugging Face checkpoint of BF16 tensors as a GGUF file, the way converters write
// it. scripts/gguf_goldens.py does the same through the PyPI package gguf and compares.
#pragma once

#include <string>

#include "formats/checkpoint.h"

namespace lockstep::engine::testing {

// The bytes of a GGUF file without a tokenizer: matrices as they are, but q and k of architecture
// llama (Mistral's too) with their rows in interleaved order; norms and biases widened to F32,
// gemma's norms as 1 + w; llama3's rope scaling as divisors.
std::string gguf_form(const formats::Checkpoint& source);

}  // namespace lockstep::engine::testing
