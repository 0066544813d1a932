#include "formats/config_json.h"

#include <optional>

#include "base/text.h"
#include "base/vocabulary.h"
#include "formats/json.h"
#include "formats/token_id_list.h"

namespace lockstep::formats {
namespace {

constexpr double kSmall = 1e-6;  // the least of numbers that must be positive

// What an absent field means, by family. An empty optional: the field is required.
struct Defaults {
  std::string_view family;
  std::optional<int64_t> vocab_size;
  std::optional<int64_t> heads;
  std::optional<int64_t> kv_heads;   // empty: as many as heads
  std::optional<int64_t> head_size;  // empty: hidden size / heads
  int64_t max_positions;
  double rope_theta;
  bool tied_embeddings;
  std::string_view activation_key;
  std::string_view activation;
  bool has_windows;
};

constexpr Defaults kLlama = {.family = "llama",
                             .vocab_size = {},
                             .heads = {},
                             .kv_heads = {},
                             .head_size = {},
                             .max_positions = 2048,
                             .rope_theta = 10000.0,
                             .tied_embeddings = false,
                             .activation_key = "hidden_act",
                             .activation = "silu",
                             .has_windows = false};
constexpr Defaults kGemma3 = {.family = "gemma3",
                              .vocab_size = 262208,
                              .heads = 8,
                              .kv_heads = 4,
                              .head_size = 256,
                              .max_positions = 131072,
                              .rope_theta = 1000000.0,
                              .tied_embeddings = true,
                              .activation_key = "hidden_activation",
                              .activation = "gelu_pytorch_tanh",
                              .has_windows = true};
constexpr int64_t kGemma3Window = 4096;
constexpr int64_t kGemma3WindowPattern = 6;
constexpr double kGemma3LocalTheta = 10000.0;
constexpr double kGemma3QueryScaleSize = 256.0;

// The fields of the language model, and those of the file's outer level: the same object unless
// nested.
struct Source {
  const Defaults& defaults;
  JsonFields text;
  JsonFields outer;

  const JsonFields& holder_of(std::string_view key) const { return text.has(key) ? text : outer; }
};

StatusOr<const Defaults*> defaults_of(const std::string& model_type) {
  if (model_type == "llama") return &kLlama;
  if (model_type == "gemma3_text" || model_type == "gemma3") return &kGemma3;
  return unimplemented("model_type {} is not supported; supported: llama, gemma3_text, gemma3",
                       quote_text(model_type));
}

StatusOr<Source> find_source(const JsonValue& root) {
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonFields outer, JsonFields::of(root, ""));
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string model_type, outer.string("model_type"));
  LOCKSTEP_ASSIGN_OR_RETURN(const Defaults* defaults, defaults_of(model_type));
  if (model_type != "gemma3") return Source{*defaults, outer, outer};
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonFields text, outer.object("text_config"));
  return Source{*defaults, text, outer};
}

// Features whose silent loss would change the answers.
Status refuse_unknown_features(const Source& source) {
  for (const std::string_view key : {"quantization_config", "compression_config"}) {
    if (source.holder_of(key).has(key)) {
      return unimplemented("{} is not supported; use a plain or a GGUF checkpoint", key);
    }
  }
  LOCKSTEP_ASSIGN_OR_RETURN(const bool bidirectional,
                            source.text.boolean_or("use_bidirectional_attention", false));
  if (bidirectional) return unimplemented("use_bidirectional_attention is not supported");
  return ok_status();
}

StatusOr<int64_t> required_unless(const JsonFields& fields, std::string_view key,
                                  std::optional<int64_t> fallback, int64_t most) {
  if (fallback) return fields.integer_or(key, *fallback, 1, most);
  return fields.integer(key, 1, most);
}

Status read_sizes(const Source& source, ModelConfig& config) {
  const JsonFields& text = source.text;
  const Defaults& defaults = source.defaults;
  LOCKSTEP_ASSIGN_OR_RETURN(
      config.vocab_size,
      required_unless(text, "vocab_size", defaults.vocab_size, Vocabulary::kMaxSize));
  LOCKSTEP_ASSIGN_OR_RETURN(config.hidden_size, text.integer("hidden_size", 1, kMaxHiddenSize));
  LOCKSTEP_ASSIGN_OR_RETURN(config.layers, text.integer("num_hidden_layers", 1, kMaxLayers));
  LOCKSTEP_ASSIGN_OR_RETURN(
      config.heads, required_unless(text, "num_attention_heads", defaults.heads, kMaxHeads));
  LOCKSTEP_ASSIGN_OR_RETURN(
      config.kv_heads, text.integer_or("num_key_value_heads",
                                       defaults.kv_heads.value_or(config.heads), 1, kMaxHeads));
  if (!text.has("head_dim") && !defaults.head_size && config.hidden_size % config.heads != 0) {
    return invalid_argument(
        "head_dim is missing and hidden_size {} is not a multiple of num_attention_heads {}",
        config.hidden_size, config.heads);
  }
  LOCKSTEP_ASSIGN_OR_RETURN(
      config.head_size,
      text.integer_or("head_dim", defaults.head_size.value_or(config.hidden_size / config.heads), 1,
                      kMaxHeadSize));
  LOCKSTEP_ASSIGN_OR_RETURN(config.intermediate_size,
                            text.integer("intermediate_size", 1, kMaxIntermediateSize));
  LOCKSTEP_ASSIGN_OR_RETURN(
      config.max_positions,
      text.integer_or("max_position_embeddings", defaults.max_positions, 1, kMaxPositions));
  return ok_status();
}

StatusOr<HiddenActivation> read_activation(const Source& source) {
  LOCKSTEP_ASSIGN_OR_RETURN(
      const std::string name,
      source.text.string_or(source.defaults.activation_key, source.defaults.activation));
  if (name == "silu" || name == "swish") return HiddenActivation::kSilu;
  if (name == "gelu_pytorch_tanh") return HiddenActivation::kGeluTanh;
  return unimplemented("{} {} is not supported; supported: silu, gelu_pytorch_tanh",
                       source.defaults.activation_key, quote_text(name));
}

Status read_behaviour(const Source& source, ModelConfig& config) {
  const JsonFields& text = source.text;
  LOCKSTEP_ASSIGN_OR_RETURN(config.rms_eps, text.number_or("rms_norm_eps", 1e-6, 0.0, 1.0));
  LOCKSTEP_ASSIGN_OR_RETURN(config.activation, read_activation(source));
  LOCKSTEP_ASSIGN_OR_RETURN(
      config.tied_embeddings,
      source.holder_of("tie_word_embeddings")
          .boolean_or("tie_word_embeddings", source.defaults.tied_embeddings));
  LOCKSTEP_ASSIGN_OR_RETURN(config.attention_bias, text.boolean_or("attention_bias", false));
  LOCKSTEP_ASSIGN_OR_RETURN(config.mlp_bias, text.boolean_or("mlp_bias", false));
  LOCKSTEP_ASSIGN_OR_RETURN(config.eos_ids,
                            read_token_id_list(source.holder_of("eos_token_id"), "eos_token_id"));
  LOCKSTEP_ASSIGN_OR_RETURN(const auto bos_ids,
                            read_token_id_list(source.holder_of("bos_token_id"), "bos_token_id"));
  if (bos_ids.size() > 1) return invalid_argument("bos_token_id must be one id");
  config.bos_id = bos_ids.empty() ? -1 : bos_ids[0];
  return ok_status();
}

// One rope object: {rope_type or type, factor, ...}.
StatusOr<RopeScaling> read_scaling(const JsonFields& fields) {
  const std::string_view key = fields.has("rope_type") ? "rope_type" : "type";
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string type, fields.string_or(key, "default"));
  if (type == "default") {
    if (!fields.has(key) && fields.has("factor")) {
      return invalid_argument("{} is missing beside factor", fields.path_of("rope_type"));
    }
    return RopeScaling();
  }
  constexpr double kMaxFactor = 1e6;
  if (type == "linear") {
    RopeLinear linear;
    LOCKSTEP_ASSIGN_OR_RETURN(linear.factor, fields.number("factor", 1.0, kMaxFactor));
    return RopeScaling(linear);
  }
  if (type == "llama3") {
    RopeLlama3 llama3;
    LOCKSTEP_ASSIGN_OR_RETURN(llama3.factor, fields.number("factor", 1.0, kMaxFactor));
    LOCKSTEP_ASSIGN_OR_RETURN(llama3.low_freq_factor,
                              fields.number("low_freq_factor", kSmall, kMaxFactor));
    LOCKSTEP_ASSIGN_OR_RETURN(llama3.high_freq_factor,
                              fields.number("high_freq_factor", kSmall, kMaxFactor));
    LOCKSTEP_ASSIGN_OR_RETURN(llama3.original_max_positions,
                              fields.integer("original_max_position_embeddings", 1, kMaxPositions));
    if (!(llama3.low_freq_factor < llama3.high_freq_factor)) {
      return invalid_argument("{} {} is not below high_freq_factor {}",
                              fields.path_of("low_freq_factor"), llama3.low_freq_factor,
                              llama3.high_freq_factor);
    }
    return RopeScaling(llama3);
  }
  return unimplemented("{} {} is not supported; supported: default, linear, llama3",
                       fields.path_of(key), quote_text(type));
}

// One new-style rope object, which holds its base too.
StatusOr<RopeConfig> read_rope_parameters(const JsonFields& fields, double default_theta) {
  RopeConfig rope;
  LOCKSTEP_ASSIGN_OR_RETURN(rope.theta,
                            fields.number_or("rope_theta", default_theta, 1.0, kMaxRopeTheta));
  LOCKSTEP_ASSIGN_OR_RETURN(rope.scaling, read_scaling(fields));
  return rope;
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

// rope_theta and rope_scaling (of the layers that see everything), rope_local_base_freq.
Status read_old_rope(const Source& source, ModelConfig& config) {
  const JsonFields& text = source.text;
  LOCKSTEP_ASSIGN_OR_RETURN(
      config.rope.theta,
      text.number_or("rope_theta", source.defaults.rope_theta, 1.0, kMaxRopeTheta));
  LOCKSTEP_ASSIGN_OR_RETURN(
      config.rope_local.theta,
      text.number_or("rope_local_base_freq", kGemma3LocalTheta, 1.0, kMaxRopeTheta));
  if (text.has("rope_scaling")) {
    LOCKSTEP_ASSIGN_OR_RETURN(const JsonFields scaling, text.object("rope_scaling"));
    LOCKSTEP_ASSIGN_OR_RETURN(config.rope.scaling, read_scaling(scaling));
  }
  LOCKSTEP_ASSIGN_OR_RETURN(config.rotary_size, read_rotary_size(text, config.head_size));
  return ok_status();
}

// rope_parameters: one object, or one for each layer type.
Status read_new_rope(const Source& source, ModelConfig& config) {
  const JsonFields& text = source.text;
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonFields parameters, text.object("rope_parameters"));
  if (!parameters.has("full_attention") && !parameters.has("sliding_attention")) {
    LOCKSTEP_ASSIGN_OR_RETURN(
        const double theta,
        text.number_or("rope_theta", source.defaults.rope_theta, 1.0, kMaxRopeTheta));
    LOCKSTEP_ASSIGN_OR_RETURN(config.rope, read_rope_parameters(parameters, theta));
    LOCKSTEP_ASSIGN_OR_RETURN(
        config.rope_local.theta,
        text.number_or("rope_local_base_freq", kGemma3LocalTheta, 1.0, kMaxRopeTheta));
    const JsonFields& holder = parameters.has("partial_rotary_factor") ? parameters : text;
    LOCKSTEP_ASSIGN_OR_RETURN(config.rotary_size, read_rotary_size(holder, config.head_size));
    return ok_status();
  }
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonFields full, parameters.object("full_attention"));
  LOCKSTEP_ASSIGN_OR_RETURN(config.rope, read_rope_parameters(full, source.defaults.rope_theta));
  LOCKSTEP_ASSIGN_OR_RETURN(config.rotary_size, read_rotary_size(full, config.head_size));
  if (!source.defaults.has_windows) return ok_status();
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonFields sliding, parameters.object("sliding_attention"));
  LOCKSTEP_ASSIGN_OR_RETURN(config.rope_local, read_rope_parameters(sliding, kGemma3LocalTheta));
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t local, read_rotary_size(sliding, config.head_size));
  if (local != config.rotary_size) {
    return unimplemented("{} other than full_attention's is not supported",
                         sliding.path_of("partial_rotary_factor"));
  }
  return ok_status();
}

StatusOr<LayerKind> layer_kind(const JsonValue& value, const std::string& path) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string name, json_string(value, path));
  if (name == "full_attention") return LayerKind::kFull;
  if (name == "sliding_attention") return LayerKind::kSliding;
  return unimplemented("{} {} is not supported; supported: full_attention, sliding_attention", path,
                       quote_text(name));
}

// layer_types, else every n-th layer full and the others sliding.
Status read_layer_kinds(const Source& source, ModelConfig& config) {
  const JsonFields& text = source.text;
  if (text.has("layer_types")) {
    LOCKSTEP_ASSIGN_OR_RETURN(const auto types, text.array("layer_types"));
    if (types.size() != static_cast<size_t>(config.layers)) {
      return invalid_argument("layer_types has {} entries for {} layers", types.size(),
                              config.layers);
    }
    for (size_t i = 0; i < types.size(); ++i) {
      LOCKSTEP_ASSIGN_OR_RETURN(
          const LayerKind kind,
          layer_kind(types[i], fmt::format("{}[{}]", text.path_of("layer_types"), i)));
      if (kind == LayerKind::kSliding && !source.defaults.has_windows) {
        return unimplemented("sliding_attention layers are not supported for model_type llama");
      }
      config.layer_kinds.push_back(kind);
    }
    return ok_status();
  }
  int64_t pattern = 1;
  if (source.defaults.has_windows) {
    const std::string_view key =
        text.has("sliding_window_pattern") ? "sliding_window_pattern" : "_sliding_window_pattern";
    LOCKSTEP_ASSIGN_OR_RETURN(pattern, text.integer_or(key, kGemma3WindowPattern, 1, kMaxLayers));
  }
  for (int64_t i = 0; i < config.layers; ++i) {
    config.layer_kinds.push_back((i + 1) % pattern == 0 ? LayerKind::kFull : LayerKind::kSliding);
  }
  return ok_status();
}

Status read_attention(const Source& source, ModelConfig& config) {
  const JsonFields& text = source.text;
  config.query_scale_size = static_cast<double>(config.head_size);
  if (!source.defaults.has_windows) return ok_status();
  constexpr double kMaxSoftCap = 1e6;
  LOCKSTEP_ASSIGN_OR_RETURN(
      config.query_scale_size,
      text.number_or("query_pre_attn_scalar", kGemma3QueryScaleSize, kSmall, 1e6));
  LOCKSTEP_ASSIGN_OR_RETURN(config.sliding_window,
                            text.integer_or("sliding_window", kGemma3Window, 1, kMaxPositions));
  LOCKSTEP_ASSIGN_OR_RETURN(config.attention_soft_cap,
                            text.number_or("attn_logit_softcapping", 0.0, kSmall, kMaxSoftCap));
  LOCKSTEP_ASSIGN_OR_RETURN(config.final_soft_cap,
                            text.number_or("final_logit_softcapping", 0.0, kSmall, kMaxSoftCap));
  return ok_status();
}

}  // namespace

StatusOr<ModelConfig> parse_config_json(std::string_view json) {
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonValue root, parse_json(json, {.max_bytes = kMaxConfigBytes}));
  LOCKSTEP_ASSIGN_OR_RETURN(const Source source, find_source(root));
  LOCKSTEP_RETURN_IF_ERROR(refuse_unknown_features(source));
  ModelConfig config;
  config.family = source.defaults.family;
  config.layout = WeightLayout::kHuggingFace;
  LOCKSTEP_RETURN_IF_ERROR(read_sizes(source, config));
  LOCKSTEP_RETURN_IF_ERROR(read_behaviour(source, config));
  LOCKSTEP_RETURN_IF_ERROR(source.text.has("rope_parameters") ? read_new_rope(source, config)
                                                              : read_old_rope(source, config));
  LOCKSTEP_RETURN_IF_ERROR(read_layer_kinds(source, config));
  LOCKSTEP_RETURN_IF_ERROR(read_attention(source, config));
  LOCKSTEP_RETURN_IF_ERROR(check_model_config(config));
  return config;
}

}  // namespace lockstep::formats
