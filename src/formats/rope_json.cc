#include "formats/rope_json.h"

#include "base/text.h"

namespace lockstep::formats {
namespace {

constexpr double kSmall = 1e-6;  // the least of numbers that must be positive

// The fields around one rope object, which may hold what the object leaves out.
struct Surroundings {
  const JsonFields& fields;
  const ModelConfig& config;
};

// Pretraining's length. Phi-3 and its like state it outside the object, which then comes first.
StatusOr<int64_t> read_original_positions(const JsonFields& rope, const Surroundings& around) {
  constexpr std::string_view kKey = "original_max_position_embeddings";
  const JsonFields& holder = around.fields.has(kKey) ? around.fields : rope;
  return holder.integer_or(kKey, around.config.max_positions, 1, kMaxPositions);
}

StatusOr<RopeScaling> read_linear(const JsonFields& rope) {
  RopeLinear linear;
  LOCKSTEP_ASSIGN_OR_RETURN(linear.factor, rope.number("factor", 1.0, kMaxRopeFactor));
  return RopeScaling(linear);
}

StatusOr<RopeScaling> read_llama3(const JsonFields& rope, const Surroundings& around) {
  RopeLlama3 llama3;
  LOCKSTEP_ASSIGN_OR_RETURN(llama3.factor, rope.number("factor", 1.0, kMaxRopeFactor));
  LOCKSTEP_ASSIGN_OR_RETURN(llama3.low_freq_factor,
                            rope.number("low_freq_factor", kSmall, kMaxRopeFactor));
  LOCKSTEP_ASSIGN_OR_RETURN(llama3.high_freq_factor,
                            rope.number("high_freq_factor", kSmall, kMaxRopeFactor));
  LOCKSTEP_ASSIGN_OR_RETURN(llama3.original_max_positions, read_original_positions(rope, around));
  if (!(llama3.low_freq_factor < llama3.high_freq_factor)) {
    return invalid_argument("{} {} is not below high_freq_factor {}",
                            rope.path_of("low_freq_factor"), llama3.low_freq_factor,
                            llama3.high_freq_factor);
  }
  return RopeScaling(llama3);
}

// attention_factor, else DeepSeek's mscale pair (0 counts as absent), else the paper's value.
StatusOr<double> read_attention_factor(const JsonFields& rope, double factor) {
  constexpr double kMaxWeight = 100.0;
  LOCKSTEP_ASSIGN_OR_RETURN(const double mscale, rope.number_or("mscale", 0.0, 0.0, kMaxWeight));
  LOCKSTEP_ASSIGN_OR_RETURN(const double all_dim,
                            rope.number_or("mscale_all_dim", 0.0, 0.0, kMaxWeight));
  const double implied = mscale > 0 && all_dim > 0 ? yarn_attention_factor(factor, mscale) /
                                                         yarn_attention_factor(factor, all_dim)
                                                   : yarn_attention_factor(factor);
  return rope.number_or("attention_factor", implied, kSmall, kMaxRopeFactor);
}

StatusOr<RopeScaling> read_yarn(const JsonFields& rope, const Surroundings& around) {
  RopeYarn yarn;
  LOCKSTEP_ASSIGN_OR_RETURN(yarn.original_max_positions, read_original_positions(rope, around));
  if (rope.says_null("factor")) {
    yarn.factor = static_cast<double>(around.config.max_positions) /
                  static_cast<double>(yarn.original_max_positions);
    if (!(1.0 <= yarn.factor && yarn.factor <= kMaxRopeFactor)) {
      return invalid_argument("{} is null and the positions grow {}-fold; allowed: [1, {}]",
                              rope.path_of("factor"), yarn.factor, kMaxRopeFactor);
    }
  } else {
    LOCKSTEP_ASSIGN_OR_RETURN(yarn.factor, rope.number("factor", 1.0, kMaxRopeFactor));
  }
  LOCKSTEP_ASSIGN_OR_RETURN(yarn.beta_fast,
                            rope.number_or("beta_fast", yarn.beta_fast, kSmall, kMaxRopeFactor));
  LOCKSTEP_ASSIGN_OR_RETURN(yarn.beta_slow,
                            rope.number_or("beta_slow", yarn.beta_slow, kSmall, kMaxRopeFactor));
  LOCKSTEP_ASSIGN_OR_RETURN(yarn.attention_factor, read_attention_factor(rope, yarn.factor));
  LOCKSTEP_ASSIGN_OR_RETURN(yarn.truncate, rope.boolean_or("truncate", true));
  return RopeScaling(yarn);
}

// One rope object: {rope_type or type, factor, ...}.
StatusOr<RopeScaling> read_scaling(const JsonFields& rope, const Surroundings& around) {
  const std::string_view key = rope.has("rope_type") ? "rope_type" : "type";
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string type, rope.string_or(key, "default"));
  if (type == "default") {
    if (!rope.has(key) && rope.has("factor")) {
      return invalid_argument("{} is missing beside factor", rope.path_of("rope_type"));
    }
    return RopeScaling();
  }
  if (type == "linear") return read_linear(rope);
  if (type == "llama3") return read_llama3(rope, around);
  if (type == "yarn") return read_yarn(rope, around);
  return unimplemented("{} {} is not supported; supported: default, linear, llama3, yarn",
                       rope.path_of(key), quote_text(type));
}

// One new-style rope object, which holds its base too.
StatusOr<RopeConfig> read_with_base(const JsonFields& rope, double default_theta,
                                    const Surroundings& around) {
  RopeConfig out;
  LOCKSTEP_ASSIGN_OR_RETURN(out.theta,
                            rope.number_or("rope_theta", default_theta, 1.0, kMaxRopeTheta));
  LOCKSTEP_ASSIGN_OR_RETURN(out.scaling, read_scaling(rope, around));
  return out;
}

StatusOr<int64_t> read_rotary_size(const JsonFields& fields, int64_t head_size) {
  LOCKSTEP_ASSIGN_OR_RETURN(const double factor,
                            fields.number_or("partial_rotary_factor", 1.0, 0.0, 1.0));
  const auto size = static_cast<int64_t>(static_cast<double>(head_size) * factor);
  if (size < 2 || size % 2 != 0) {
    return invalid_argument("{} {} rotates {} of {} dimensions; allowed: an even number from 2",
                            fields.path_of("partial_rotary_factor"), factor, size, head_size);
  }
  return size;
}

// One rule for every layer, but that sliding ones may have a base of their own, unscaled.
Status read_single(const JsonFields& fields, const RopeDefaults& defaults, ModelConfig& config) {
  const Surroundings around = {fields, config};
  LOCKSTEP_ASSIGN_OR_RETURN(config.rope.theta,
                            fields.number_or("rope_theta", defaults.theta, 1.0, kMaxRopeTheta));
  const JsonFields* partial = &fields;
  std::optional<JsonFields> rope;
  if (fields.has("rope_parameters")) {
    LOCKSTEP_ASSIGN_OR_RETURN(rope, fields.object("rope_parameters"));
    LOCKSTEP_ASSIGN_OR_RETURN(config.rope, read_with_base(*rope, config.rope.theta, around));
    if (rope->has("partial_rotary_factor")) partial = &*rope;
  } else if (fields.has("rope_scaling")) {
    LOCKSTEP_ASSIGN_OR_RETURN(rope, fields.object("rope_scaling"));
    LOCKSTEP_ASSIGN_OR_RETURN(config.rope.scaling, read_scaling(*rope, around));
  }
  LOCKSTEP_ASSIGN_OR_RETURN(config.rotary_size, read_rotary_size(*partial, config.head_size));
  config.rope_local = config.rope;
  if (!defaults.local_theta) return ok_status();
  config.rope_local = {};
  LOCKSTEP_ASSIGN_OR_RETURN(
      config.rope_local.theta,
      fields.number_or("rope_local_base_freq", *defaults.local_theta, 1.0, kMaxRopeTheta));
  return ok_status();
}

// rope_parameters with one object for each layer type.
Status read_by_layer_type(const JsonFields& fields, const JsonFields& parameters,
                          const RopeDefaults& defaults, ModelConfig& config) {
  if (!defaults.local_theta) {
    return unimplemented("rope_parameters by layer type is not supported for this model_type");
  }
  const Surroundings around = {fields, config};
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonFields full, parameters.object("full_attention"));
  LOCKSTEP_ASSIGN_OR_RETURN(config.rope, read_with_base(full, defaults.theta, around));
  LOCKSTEP_ASSIGN_OR_RETURN(config.rotary_size, read_rotary_size(full, config.head_size));
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonFields sliding, parameters.object("sliding_attention"));
  LOCKSTEP_ASSIGN_OR_RETURN(config.rope_local,
                            read_with_base(sliding, *defaults.local_theta, around));
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t local, read_rotary_size(sliding, config.head_size));
  if (local != config.rotary_size) {
    return unimplemented("{} other than full_attention's is not supported",
                         sliding.path_of("partial_rotary_factor"));
  }
  return ok_status();
}

}  // namespace

Status read_rope_json(const JsonFields& fields, const RopeDefaults& defaults, ModelConfig& config) {
  if (fields.has("rope_parameters")) {
    LOCKSTEP_ASSIGN_OR_RETURN(const JsonFields parameters, fields.object("rope_parameters"));
    if (parameters.has("full_attention") || parameters.has("sliding_attention")) {
      return read_by_layer_type(fields, parameters, defaults, config);
    }
  }
  return read_single(fields, defaults, config);
}

}  // namespace lockstep::formats
