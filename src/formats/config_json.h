// config.json of a Hugging Face directory -> ModelConfig.
//
// Fields and the values of absent ones are those of transformers' configuration classes for the
// model types below; both spellings of rope (rope_theta with rope_scaling, and rope_parameters) and
// a language model nested under text_config are read. Sizes that published files always state are
// required. model types: llama; mistral; qwen2; qwen3; gemma2; gemma3_text, gemma3.
#pragma once

#include <string_view>

#include "base/status.h"
#include "formats/model_config.h"

namespace lockstep::formats {

inline constexpr uint64_t kMaxConfigBytes = 1 << 20;

// invalid_argument naming the field; unimplemented for a model type, rope type or activation that
// this program does not have, with the list of those it has.
StatusOr<ModelConfig> parse_config_json(std::string_view json);

}  // namespace lockstep::formats
