#include "formats/config_json.h"

#include <optional>

#include "base/text.h"
#include "base/vocabulary.h"
#include "formats/json.h"
#include "formats/rope_json.h"
#include "formats/token_id_list.h"

namespace lockstep::formats {
namespace {

enum class Windows : uint8_t {
  kNone,
  kEverywhere,   // on every layer, where sliding_window is a number
  kUpperLayers,  // from max_window_layers on, where use_sliding_window says so
  kPattern,      // on all but every n-th layer
};
enum class Biases : uint8_t {
  kNone,
  kQkv,         // on q, k and v, always
  kConfigured,  // on q, k, v and o, where attention_bias says so
};

// What a family is beyond its file, and what an absent field means. An empty optional: the field is
// required, but for kv_heads (as many as heads) and head_size (hidden size / heads).
struct FamilyRules {
  std::string_view family;
  std::optional<int64_t> vocab_size = {};
  std::optional<int64_t> heads = {};
  std::optional<int64_t> kv_heads = {};
  std::optional<int64_t> head_size = {};
  int64_t max_positions = 0;
  RopeDefaults rope = {};
  bool tied_embeddings = false;
  std::string_view activation_key = "hidden_act";
  std::string_view activation = "silu";
  Biases attention_biases = Biases::kConfigured;
  bool mlp_biases = false;  // where mlp_bias says so
  bool qk_norm = false;
  Windows windows = Windows::kNone;
  int64_t window = 4096;
  int64_t window_pattern = 1;                   // kPattern: n
  std::optional<double> query_scale_size = {};  // empty: the head size, whatever the file says
  double attention_soft_cap = 0.0;
  double final_soft_cap = 0.0;
};

constexpr FamilyRules kLlama = {.family = "llama", .max_positions = 2048, .mlp_biases = true};
constexpr FamilyRules kMistral = {.family = "mistral",
                                  .kv_heads = 8,
                                  .max_positions = 131072,
                                  .attention_biases = Biases::kNone,
                                  .windows = Windows::kEverywhere};
constexpr FamilyRules kQwen2 = {.family = "qwen2",
                                .kv_heads = 32,
                                .max_positions = 32768,
                                .attention_biases = Biases::kQkv,
                                .windows = Windows::kUpperLayers};
constexpr FamilyRules kQwen3 = {.family = "qwen3",
                                .kv_heads = 32,
                                .head_size = 128,
                                .max_positions = 32768,
                                .qk_norm = true,
                                .windows = Windows::kUpperLayers};
constexpr FamilyRules kGemma2 = {.family = "gemma2",
                                 .vocab_size = 256000,
                                 .heads = 8,
                                 .kv_heads = 4,
                                 .head_size = 256,
                                 .max_positions = 8192,
                                 .tied_embeddings = true,
                                 .activation_key = "hidden_activation",
                                 .activation = "gelu_pytorch_tanh",
                                 .windows = Windows::kPattern,
                                 .window_pattern = 2,
                                 .query_scale_size = 256.0,
                                 .attention_soft_cap = 50.0,
                                 .final_soft_cap = 30.0};
constexpr FamilyRules kGemma3 = {.family = "gemma3",
                                 .vocab_size = 262208,
                                 .heads = 8,
                                 .kv_heads = 4,
                                 .head_size = 256,
                                 .max_positions = 131072,
                                 .rope = {.theta = 1000000.0, .local_theta = 10000.0},
                                 .tied_embeddings = true,
                                 .activation_key = "hidden_activation",
                                 .activation = "gelu_pytorch_tanh",
                                 .qk_norm = true,
                                 .windows = Windows::kPattern,
                                 .window_pattern = 6,
                                 .query_scale_size = 256.0};

struct ModelType {
  std::string_view name;
  const FamilyRules& rules;
  std::string_view nested_in = {};  // the object that holds the language model, if not the root
};
constexpr ModelType kModelTypes[] = {
    {"llama", kLlama},
    {"mistral", kMistral},
    {"qwen2", kQwen2},
    {"qwen3", kQwen3},
    {"gemma2", kGemma2},
    {"gemma3_text", kGemma3},
    {"gemma3", kGemma3, "text_config"},
};

// The fields of the language model, and those of the file's outer level: the same object unless
// nested.
struct Source {
  const FamilyRules& rules;
  JsonFields text;
  JsonFields outer;

  const JsonFields& holder_of(std::string_view key) const { return text.has(key) ? text : outer; }
};

StatusOr<Source> find_source(const JsonValue& root) {
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonFields outer, JsonFields::of(root, ""));
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string name, outer.string("model_type"));
  std::string supported;
  for (const ModelType& type : kModelTypes) {
    supported += fmt::format("{}{}", supported.empty() ? "" : ", ", type.name);
    if (type.name != name) continue;
    if (type.nested_in.empty()) return Source{type.rules, outer, outer};
    LOCKSTEP_ASSIGN_OR_RETURN(const JsonFields text, outer.object(type.nested_in));
    return Source{type.rules, text, outer};
  }
  return unimplemented("model_type {} is not supported; supported: {}", quote_text(name),
                       supported);
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
  const FamilyRules& rules = source.rules;
  LOCKSTEP_ASSIGN_OR_RETURN(config.vocab_size, required_unless(text, "vocab_size", rules.vocab_size,
                                                               Vocabulary::kMaxSize));
  LOCKSTEP_ASSIGN_OR_RETURN(config.hidden_size, text.integer("hidden_size", 1, kMaxHiddenSize));
  LOCKSTEP_ASSIGN_OR_RETURN(config.layers, text.integer("num_hidden_layers", 1, kMaxLayers));
  LOCKSTEP_ASSIGN_OR_RETURN(config.heads,
                            required_unless(text, "num_attention_heads", rules.heads, kMaxHeads));
  const int64_t kv_heads =
      text.says_null("num_key_value_heads") ? config.heads : rules.kv_heads.value_or(config.heads);
  LOCKSTEP_ASSIGN_OR_RETURN(config.kv_heads,
                            text.integer_or("num_key_value_heads", kv_heads, 1, kMaxHeads));
  if (!text.has("head_dim") && !rules.head_size && config.hidden_size % config.heads != 0) {
    return invalid_argument(
        "head_dim is missing and hidden_size {} is not a multiple of num_attention_heads {}",
        config.hidden_size, config.heads);
  }
  LOCKSTEP_ASSIGN_OR_RETURN(
      config.head_size,
      text.integer_or("head_dim", rules.head_size.value_or(config.hidden_size / config.heads), 1,
                      kMaxHeadSize));
  LOCKSTEP_ASSIGN_OR_RETURN(config.intermediate_size,
                            text.integer("intermediate_size", 1, kMaxIntermediateSize));
  LOCKSTEP_ASSIGN_OR_RETURN(
      config.max_positions,
      text.integer_or("max_position_embeddings", rules.max_positions, 1, kMaxPositions));
  return ok_status();
}

StatusOr<HiddenActivation> read_activation(const Source& source) {
  LOCKSTEP_ASSIGN_OR_RETURN(
      const std::string name,
      source.text.string_or(source.rules.activation_key, source.rules.activation));
  if (name == "silu" || name == "swish") return HiddenActivation::kSilu;
  if (name == "gelu_pytorch_tanh") return HiddenActivation::kGeluTanh;
  return unimplemented("{} {} is not supported; supported: silu, gelu_pytorch_tanh",
                       source.rules.activation_key, quote_text(name));
}

Status read_biases(const Source& source, ModelConfig& config) {
  const FamilyRules& rules = source.rules;
  config.qkv_bias = rules.attention_biases == Biases::kQkv;
  if (rules.attention_biases == Biases::kConfigured) {
    LOCKSTEP_ASSIGN_OR_RETURN(config.qkv_bias, source.text.boolean_or("attention_bias", false));
    config.attention_output_bias = config.qkv_bias;
  }
  if (rules.mlp_biases) {
    LOCKSTEP_ASSIGN_OR_RETURN(config.mlp_bias, source.text.boolean_or("mlp_bias", false));
  }
  return ok_status();
}

Status read_behaviour(const Source& source, ModelConfig& config) {
  const JsonFields& text = source.text;
  LOCKSTEP_ASSIGN_OR_RETURN(config.rms_eps, text.number_or("rms_norm_eps", 1e-6, 0.0, 1.0));
  LOCKSTEP_ASSIGN_OR_RETURN(config.activation, read_activation(source));
  LOCKSTEP_ASSIGN_OR_RETURN(config.tied_embeddings,
                            source.holder_of("tie_word_embeddings")
                                .boolean_or("tie_word_embeddings", source.rules.tied_embeddings));
  LOCKSTEP_RETURN_IF_ERROR(read_biases(source, config));
  config.qk_norm = source.rules.qk_norm;
  LOCKSTEP_ASSIGN_OR_RETURN(config.eos_ids,
                            read_token_id_list(source.holder_of("eos_token_id"), "eos_token_id"));
  LOCKSTEP_ASSIGN_OR_RETURN(const auto bos_ids,
                            read_token_id_list(source.holder_of("bos_token_id"), "bos_token_id"));
  if (bos_ids.size() > 1) return invalid_argument("bos_token_id must be one id");
  config.bos_id = bos_ids.empty() ? -1 : bos_ids[0];
  return ok_status();
}

// sliding_window: absent means the class's value, null means none.
Status read_window(const Source& source, ModelConfig& config) {
  const JsonFields& text = source.text;
  if (source.rules.windows == Windows::kNone) return ok_status();
  const int64_t absent = text.says_null("sliding_window") ? 0 : source.rules.window;
  LOCKSTEP_ASSIGN_OR_RETURN(config.sliding_window,
                            text.integer_or("sliding_window", absent, 1, kMaxPositions));
  if (source.rules.windows == Windows::kUpperLayers) {
    LOCKSTEP_ASSIGN_OR_RETURN(const bool used, text.boolean_or("use_sliding_window", false));
    if (!used) config.sliding_window = 0;
  }
  return ok_status();
}

// Where windows are used if layer_types says nothing.
StatusOr<std::vector<LayerKind>> layer_kinds_by_rule(const Source& source,
                                                     const ModelConfig& config) {
  constexpr int64_t kFirstUpperLayer = 28;  // of Qwen's classes
  const JsonFields& text = source.text;
  const FamilyRules& rules = source.rules;
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t upper,
                            text.integer_or("max_window_layers", kFirstUpperLayer, 0, kMaxLayers));
  const std::string_view pattern_key =
      text.has("sliding_window_pattern") ? "sliding_window_pattern" : "_sliding_window_pattern";
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t pattern,
                            text.integer_or(pattern_key, rules.window_pattern, 1, kMaxLayers));
  const auto slides = [&](int64_t layer) {
    switch (rules.windows) {
      case Windows::kNone:
        return false;
      case Windows::kEverywhere:
        return config.sliding_window > 0;
      case Windows::kUpperLayers:
        return config.sliding_window > 0 && layer >= upper;
      case Windows::kPattern:
        return (layer + 1) % pattern != 0;
    }
    return false;
  };
  std::vector<LayerKind> kinds;
  kinds.reserve(static_cast<size_t>(config.layers));
  for (int64_t i = 0; i < config.layers; ++i) {
    kinds.push_back(slides(i) ? LayerKind::kSliding : LayerKind::kFull);
  }
  return kinds;
}

StatusOr<LayerKind> read_layer_kind(const JsonValue& value, const std::string& path) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string name, json_string(value, path));
  if (name == "full_attention") return LayerKind::kFull;
  if (name == "sliding_attention") return LayerKind::kSliding;
  return unimplemented("{} {} is not supported; supported: full_attention, sliding_attention", path,
                       quote_text(name));
}

// layer_types may choose where the family's layers differ, and must agree where they do not.
Status read_layer_kinds(const Source& source, ModelConfig& config) {
  const JsonFields& text = source.text;
  LOCKSTEP_ASSIGN_OR_RETURN(config.layer_kinds, layer_kinds_by_rule(source, config));
  if (!text.has("layer_types")) return ok_status();
  LOCKSTEP_ASSIGN_OR_RETURN(const auto types, text.array("layer_types"));
  if (types.size() != config.layer_kinds.size()) {
    return invalid_argument("layer_types has {} entries for {} layers", types.size(),
                            config.layers);
  }
  const bool chooses =
      source.rules.windows == Windows::kUpperLayers || source.rules.windows == Windows::kPattern;
  for (size_t i = 0; i < types.size(); ++i) {
    const std::string path = fmt::format("{}[{}]", text.path_of("layer_types"), i);
    LOCKSTEP_ASSIGN_OR_RETURN(const LayerKind kind, read_layer_kind(types[i], path));
    if (!chooses && kind != config.layer_kinds[i]) {
      return unimplemented("{} {} with sliding_window {} is not supported for model_type {}", path,
                           types[i].describe(), config.sliding_window, source.rules.family);
    }
    if (kind == LayerKind::kSliding && config.sliding_window == 0) {
      return invalid_argument("{} is 'sliding_attention' but no sliding_window is in use", path);
    }
    config.layer_kinds[i] = kind;
  }
  return ok_status();
}

// 0 where the field is null: no cap.
StatusOr<double> read_soft_cap(const JsonFields& text, std::string_view key, double absent) {
  constexpr double kLeast = 1e-6;
  return text.number_or(key, text.says_null(key) ? 0.0 : absent, kLeast, kMaxSoftCap);
}

Status read_scores(const Source& source, ModelConfig& config) {
  const JsonFields& text = source.text;
  const FamilyRules& rules = source.rules;
  config.query_scale_size = static_cast<double>(config.head_size);
  if (!rules.query_scale_size) return ok_status();
  LOCKSTEP_ASSIGN_OR_RETURN(config.query_scale_size,
                            text.number_or("query_pre_attn_scalar", *rules.query_scale_size,
                                           kMinQueryScaleSize, kMaxQueryScaleSize));
  LOCKSTEP_ASSIGN_OR_RETURN(config.attention_soft_cap, read_soft_cap(text, "attn_logit_softcapping",
                                                                     rules.attention_soft_cap));
  LOCKSTEP_ASSIGN_OR_RETURN(config.final_soft_cap,
                            read_soft_cap(text, "final_logit_softcapping", rules.final_soft_cap));
  return ok_status();
}

}  // namespace

StatusOr<ModelConfig> parse_config_json(std::string_view json) {
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonValue root, parse_json(json, {.max_bytes = kMaxConfigBytes}));
  LOCKSTEP_ASSIGN_OR_RETURN(const Source source, find_source(root));
  LOCKSTEP_RETURN_IF_ERROR(refuse_unknown_features(source));
  ModelConfig config;
  config.family = source.rules.family;
  config.layout = WeightLayout::kHuggingFace;
  LOCKSTEP_RETURN_IF_ERROR(read_sizes(source, config));
  LOCKSTEP_RETURN_IF_ERROR(read_behaviour(source, config));
  LOCKSTEP_RETURN_IF_ERROR(read_rope_json(source.text, source.rules.rope, config));
  LOCKSTEP_RETURN_IF_ERROR(read_window(source, config));
  LOCKSTEP_RETURN_IF_ERROR(read_layer_kinds(source, config));
  LOCKSTEP_RETURN_IF_ERROR(read_scores(source, config));
  LOCKSTEP_RETURN_IF_ERROR(check_model_config(config));
  return config;
}

}  // namespace lockstep::formats
