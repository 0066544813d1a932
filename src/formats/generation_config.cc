#include "formats/generation_config.h"

#include <cmath>
#include <limits>

#include "base/sampling.h"
#include "formats/config_json.h"
#include "formats/json.h"
#include "formats/token_id_list.h"

namespace lockstep::formats {
namespace {

StatusOr<std::optional<double>> optional_number(const JsonFields& fields, std::string_view key) {
  constexpr double kMax = std::numeric_limits<double>::max();
  if (!fields.has(key)) return std::optional<double>();
  LOCKSTEP_ASSIGN_OR_RETURN(const double value, fields.number(key, -kMax, kMax));
  return std::optional<double>(value);
}

Status check_limits(const GenerationDefaults& defaults) {
  SamplingFields fields;
  fields.temperature = defaults.temperature.value_or(fields.temperature);
  fields.top_k = defaults.top_k.value_or(fields.top_k);
  fields.top_p = defaults.top_p.value_or(fields.top_p);
  fields.min_p = defaults.min_p.value_or(fields.min_p);
  return SamplingParams::create(fields).status();
}

}  // namespace

StatusOr<GenerationDefaults> parse_generation_config(std::string_view json) {
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonValue root, parse_json(json, {.max_bytes = kMaxConfigBytes}));
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonFields fields, JsonFields::of(root, ""));
  GenerationDefaults out;
  LOCKSTEP_ASSIGN_OR_RETURN(out.eos_ids, read_token_id_list(fields, "eos_token_id"));
  LOCKSTEP_ASSIGN_OR_RETURN(const bool sample, fields.boolean_or("do_sample", true));
  if (!sample) return out;
  LOCKSTEP_ASSIGN_OR_RETURN(out.temperature, optional_number(fields, "temperature"));
  LOCKSTEP_ASSIGN_OR_RETURN(out.top_p, optional_number(fields, "top_p"));
  LOCKSTEP_ASSIGN_OR_RETURN(out.min_p, optional_number(fields, "min_p"));
  if (fields.has("top_k")) {
    LOCKSTEP_ASSIGN_OR_RETURN(out.top_k, fields.integer("top_k", -1, INT32_MAX));
  }
  LOCKSTEP_RETURN_IF_ERROR(check_limits(out));
  return out;
}

}  // namespace lockstep::formats
