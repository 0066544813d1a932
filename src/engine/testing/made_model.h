// Test helper: random checkpoints of sizes that no published model has, as a Hugging Face directory
// or a GGUF file. The numbers come from integers: the same file on every machine.
#pragma once

#include <cstdint>
#include <string>

#include "base/dtype.h"
#include "formats/testing/folder.h"

namespace lockstep::engine::testing {

struct MadeModel {
  std::string family = "llama";
  DType dtype = DType::kBF16;  // of the matrices; block types in GGUF only
  int64_t vocab = 37;
  int64_t hidden = 18;
  int64_t intermediate = 30;
  int64_t layers = 1;
  int64_t heads = 3;
  int64_t kv_heads = 1;
  int64_t head_size = 6;
  int64_t window = 0;  // 0: none, which gemma cannot do without
  bool tied = true;
  bool bias = false;  // on every matrix that the family may have one on
};

// config.json and model.safetensors.
void write_hugging_face(const MadeModel& model, const formats::TestFolder& folder);

// model.gguf without a tokenizer, with values like those of the Hugging Face form but another
// model: rows of q and k are not reordered, and keys that a family may do without are left out.
void write_gguf(const MadeModel& model, const formats::TestFolder& folder);

}  // namespace lockstep::engine::testing
