// generation_config.json -> GenerationDefaults.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace lockstep::formats {

// Defaults that a model's maker suggests for sampling; each passes SamplingParams' limits.
struct GenerationDefaults {
  std::optional<double> temperature;
  std::optional<int64_t> top_k;
  std::optional<double> top_p;
  std::optional<double> min_p;
  std::vector<int64_t> eos_ids;  // replaces the config's when not empty
};

// do_sample = false leaves the sampling fields empty, whatever else the file says.
StatusOr<GenerationDefaults> parse_generation_config(std::string_view json);

}  // namespace lockstep::formats
