// The text side of a model's files alone: tokenizer, chat template, vocabulary size. No weights and
// no supported architecture are needed.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "formats/tokenizer_spec.h"

namespace lockstep::formats {

// tokenizer.json and, where there is one, tokenizer_config.json. not_found without the first.
StatusOr<TokenizerSpec> tokenizer_from_directory(const std::string& directory);

struct TextFiles {
  TokenizerSpec tokenizer;
  std::optional<std::string> chat_template;
  // vocab_size of a config.json, else the number of the tokenizer's ids.
  int64_t vocabulary_size = 0;
};

// A directory, a tokenizer.json (with the files beside it) or a .gguf file. not_found where there
// is no tokenizer.
StatusOr<TextFiles> read_text_files(const std::string& path);

}  // namespace lockstep::formats
