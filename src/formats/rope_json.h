// The rope fields of a config.json, in both spellings: rope_theta and rope_local_base_freq with
// rope_scaling, or rope_parameters (transformers 5), which holds the base too and may be split by
// layer type. rope types: default, linear, llama3, yarn.
#pragma once

#include <optional>

#include "base/status.h"
#include "formats/json.h"
#include "formats/model_config.h"

namespace lockstep::formats {

// What a family's absent fields mean.
struct RopeDefaults {
  double theta = 10000.0;
  std::optional<double> local_theta;  // of sliding layers; empty: they turn as the others do
};

// Sets rope, rope_local and rotary_size. REQUIRES config.head_size and config.max_positions.
// invalid_argument naming the field; unimplemented for a rope type that this program does not have.
Status read_rope_json(const JsonFields& fields, const RopeDefaults& defaults, ModelConfig& config);

}  // namespace lockstep::formats
