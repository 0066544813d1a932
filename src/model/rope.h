// Inverse frequencies of rotary embeddings, by the config's scaling rule.
#pragma once

#include "base/status.h"
#include "device/device.h"
#include "formats/model_config.h"

namespace lockstep::model {

// Pair i of `rotary_size` / 2 turns by position * theta^(-2 i / rotary_size), then the scaling:
// linear divides all by its factor; llama3 divides long wavelengths, keeps short ones and blends
// between (as Llama 3.1 defines it); yarn blends by pair between its two turning counts and scales
// cos and sin; GGUF's divisors divide each. Computed in double with our own pow and log and rounded
// once to f32.
device::RopeSpec rope_spec(const formats::RopeConfig& rope, int64_t rotary_size,
                           device::RopeStyle style);

// By the config's rotary size and order of pairs.
device::RopeSpec rope_spec(const formats::RopeConfig& rope, const formats::ModelConfig& config);

}  // namespace lockstep::model
