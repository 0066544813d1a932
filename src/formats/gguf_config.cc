#include "formats/gguf_config.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "base/text.h"
#include "base/vocabulary.h"

namespace lockstep::formats {
namespace {

constexpr double kMinPositive = 1e-6;

// What an architecture is beyond its file.
struct Architecture {
  std::string_view name;
  HiddenActivation activation = HiddenActivation::kSilu;
  bool qkv_bias = false;  // always; others have biases where the file has them
  bool qk_norm = false;
  bool rotary_interleaved = false;
  bool local_rope = false;  // sliding layers turn by a base of their own, unscaled
  // Layers that slide where the file has a window but no pattern: all but every n-th. 0: every
  // layer; empty: the file must say.
  std::optional<int64_t> window_pattern = {};
  bool needs_window = false;
  double attention_soft_cap = 0.0;  // where the file has none
  double final_soft_cap = 0.0;
  // A model of so many layers scales attention by the square root of hidden size / heads, which no
  // key says.
  int64_t layers_of_odd_scale = 0;
};

constexpr Architecture kArchitectures[] = {
    {.name = "llama", .rotary_interleaved = true, .window_pattern = 0},  // Mistral's files too
    {.name = "qwen2", .qkv_bias = true},
    {.name = "qwen3", .qk_norm = true},
    {.name = "gemma2",
     .activation = HiddenActivation::kGeluTanh,
     .window_pattern = 2,
     .needs_window = true,
     .attention_soft_cap = 50.0,
     .final_soft_cap = 30.0,
     .layers_of_odd_scale = 46},
    {.name = "gemma3",
     .activation = HiddenActivation::kGeluTanh,
     .qk_norm = true,
     .local_rope = true,
     .window_pattern = 6,
     .needs_window = true,
     .layers_of_odd_scale = 62},
};

// Reads "<architecture>.<suffix>".
class ArchitectureKeys {
 public:
  ArchitectureKeys(const GgufMetadata& metadata, std::string architecture)
      : metadata_(metadata), architecture_(std::move(architecture)) {}

  std::string key(std::string_view suffix) const {
    return fmt::format("{}.{}", architecture_, suffix);
  }
  bool has(std::string_view suffix) const { return metadata_.has(key(suffix)); }
  StatusOr<int64_t> integer(std::string_view suffix, int64_t lo, int64_t hi) const {
    return metadata_.integer(key(suffix), lo, hi);
  }
  StatusOr<int64_t> integer_or(std::string_view suffix, int64_t fallback, int64_t lo,
                               int64_t hi) const {
    return metadata_.integer_or(key(suffix), fallback, lo, hi);
  }
  StatusOr<double> number_or(std::string_view suffix, double fallback, double lo, double hi) const {
    return metadata_.number_or(key(suffix), fallback, lo, hi);
  }
  StatusOr<double> number(std::string_view suffix, double lo, double hi) const {
    return metadata_.number(key(suffix), lo, hi);
  }
  StatusOr<std::string_view> string_or(std::string_view suffix, std::string_view fallback) const {
    return metadata_.string_or(key(suffix), fallback);
  }
  bool holds_array(std::string_view suffix) const {
    const GgufValue* value = metadata_.find(key(suffix));
    return value != nullptr && std::holds_alternative<GgufArray>(*value);
  }
  StatusOr<std::vector<bool>> booleans(std::string_view suffix) const {
    return metadata_.booleans(key(suffix));
  }

 private:
  const GgufMetadata& metadata_;
  const std::string architecture_;
};

StatusOr<const Architecture*> architecture_of(std::string_view name) {
  std::string supported;
  for (const Architecture& architecture : kArchitectures) {
    if (architecture.name == name) return &architecture;
    supported += fmt::format("{}{}", supported.empty() ? "" : ", ", architecture.name);
  }
  return unimplemented("general.architecture {} is not supported; supported: {}", quote_text(name),
                       supported);
}

Status refuse_unknown_features(const GgufContents& gguf, const ArchitectureKeys& keys) {
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t parts,
                            gguf.metadata.integer_or("split.count", 1, 0, UINT16_MAX));
  if (parts > 1) return unimplemented("a GGUF split into {} files is not supported", parts);
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t experts,
                            keys.integer_or("expert_count", 0, 0, UINT16_MAX));
  if (experts > 0)
    return unimplemented("{} is {}; experts are not supported for this architecture",
                         keys.key("expert_count"), experts);
  return ok_status();
}

// V, by the table of embeddings; everything else that counts tokens must agree.
StatusOr<int64_t> read_vocab_size(const GgufContents& gguf, const ArchitectureKeys& keys) {
  const TensorView* table = gguf.tensors.find("token_embd.weight");
  if (table == nullptr) return invalid_argument("tensor token_embd.weight is missing");
  if (table->shape.size() != 2) {
    return invalid_argument("token_embd.weight has shape {}; expected [vocabulary, hidden]",
                            shape_string(table->shape));
  }
  const int64_t rows = table->shape[0];
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t said,
                            keys.integer_or("vocab_size", rows, 1, Vocabulary::kMaxSize));
  if (said != rows) {
    return invalid_argument("{} is {} but token_embd.weight has {} rows", keys.key("vocab_size"),
                            said, rows);
  }
  const TensorView* head = gguf.tensors.find("output.weight");
  if (head != nullptr && (head->shape.empty() || head->shape[0] != rows)) {
    return invalid_argument("output.weight has shape {} but token_embd.weight has {} rows",
                            shape_string(head->shape), rows);
  }
  return rows;
}

Status read_sizes(const GgufContents& gguf, const ArchitectureKeys& keys, ModelConfig& config) {
  LOCKSTEP_ASSIGN_OR_RETURN(config.vocab_size, read_vocab_size(gguf, keys));
  LOCKSTEP_ASSIGN_OR_RETURN(config.layers, keys.integer("block_count", 1, kMaxLayers));
  LOCKSTEP_ASSIGN_OR_RETURN(config.hidden_size,
                            keys.integer("embedding_length", 1, kMaxHiddenSize));
  LOCKSTEP_ASSIGN_OR_RETURN(config.intermediate_size,
                            keys.integer("feed_forward_length", 1, kMaxIntermediateSize));
  LOCKSTEP_ASSIGN_OR_RETURN(config.max_positions, keys.integer("context_length", 1, kMaxPositions));
  LOCKSTEP_ASSIGN_OR_RETURN(config.heads, keys.integer("attention.head_count", 1, kMaxHeads));
  LOCKSTEP_ASSIGN_OR_RETURN(config.kv_heads,
                            keys.integer_or("attention.head_count_kv", config.heads, 1, kMaxHeads));
  const int64_t default_size = config.hidden_size / config.heads;
  if (!keys.has("attention.key_length") && config.hidden_size % config.heads != 0) {
    return invalid_argument("{} is missing and {} {} is not a multiple of {} {}",
                            keys.key("attention.key_length"), keys.key("embedding_length"),
                            config.hidden_size, keys.key("attention.head_count"), config.heads);
  }
  LOCKSTEP_ASSIGN_OR_RETURN(config.head_size,
                            keys.integer_or("attention.key_length", default_size, 1, kMaxHeadSize));
  LOCKSTEP_ASSIGN_OR_RETURN(
      const int64_t value_size,
      keys.integer_or("attention.value_length", default_size, 1, kMaxHeadSize));
  if (value_size != config.head_size) {
    return unimplemented("{} {} other than the key's {} is not supported",
                         keys.key("attention.value_length"), value_size, config.head_size);
  }
  LOCKSTEP_ASSIGN_OR_RETURN(
      config.rotary_size,
      keys.integer_or("rope.dimension_count", config.head_size, 2, config.head_size));
  return ok_status();
}

// rope_freqs.weight: float32 divisors, one a frequency.
StatusOr<RopeFactors> read_rope_factors(const TensorView& tensor, int64_t rotary_size) {
  const Shape expected = {rotary_size / 2};
  if (tensor.dtype != DType::kF32 || tensor.shape != expected) {
    return invalid_argument("rope_freqs.weight is {} {}; expected F32 {}", dtype_name(tensor.dtype),
                            shape_string(tensor.shape), shape_string(expected));
  }
  RopeFactors factors;
  factors.divisors.resize(static_cast<size_t>(rotary_size / 2));
  std::memcpy(factors.divisors.data(), tensor.bytes.data(), tensor.bytes.size());
  for (const float divisor : factors.divisors) {
    if (!(0.0f < divisor && divisor <= std::numeric_limits<float>::max())) {
      return invalid_argument("rope_freqs.weight holds {}; expected finite numbers above 0",
                              divisor);
    }
  }
  return factors;
}

StatusOr<RopeYarn> read_yarn(const ArchitectureKeys& keys, int64_t max_positions) {
  RopeYarn yarn;
  LOCKSTEP_ASSIGN_OR_RETURN(yarn.factor, keys.number("rope.scaling.factor", 1.0, kMaxRopeFactor));
  LOCKSTEP_ASSIGN_OR_RETURN(
      yarn.original_max_positions,
      keys.integer_or("rope.scaling.original_context_length", max_positions, 1, kMaxPositions));
  LOCKSTEP_ASSIGN_OR_RETURN(
      yarn.beta_fast,
      keys.number_or("rope.scaling.yarn_beta_fast", yarn.beta_fast, kMinPositive, kMaxRopeFactor));
  LOCKSTEP_ASSIGN_OR_RETURN(
      yarn.beta_slow,
      keys.number_or("rope.scaling.yarn_beta_slow", yarn.beta_slow, kMinPositive, kMaxRopeFactor));
  LOCKSTEP_ASSIGN_OR_RETURN(const double mix,
                            keys.number_or("rope.scaling.yarn_ext_factor", 1.0, -1.0, 1.0));
  if (mix != 1.0 && mix != -1.0) {  // -1: not set
    return unimplemented("{} {} is not supported; supported: 1",
                         keys.key("rope.scaling.yarn_ext_factor"), mix);
  }
  // Of DeepSeek's pair (mscale, mscale_all_dim) the file keeps the second; the first is 1.
  LOCKSTEP_ASSIGN_OR_RETURN(const double all_dim,
                            keys.number_or("rope.scaling.yarn_log_multiplier", 0.0, 0.0, 100.0));
  LOCKSTEP_ASSIGN_OR_RETURN(const double extra, keys.number_or("rope.scaling.attn_factor", 1.0,
                                                               kMinPositive, kMaxRopeFactor));
  yarn.attention_factor =
      extra * yarn_attention_factor(yarn.factor) / yarn_attention_factor(yarn.factor, all_dim);
  return yarn;
}

// Keys that ask for something else than the type says.
Status refuse_stray_rope_keys(const ArchitectureKeys& keys, std::string_view type) {
  if (keys.has("rope.scale_linear")) {
    return unimplemented("{} is not supported; files since 2023 have rope.scaling.factor",
                         keys.key("rope.scale_linear"));
  }
  LOCKSTEP_ASSIGN_OR_RETURN(const double attention, keys.number_or("rope.scaling.attn_factor", 1.0,
                                                                   kMinPositive, kMaxRopeFactor));
  if (attention != 1.0 && type != "yarn") {
    return unimplemented("{} {} is not supported with rope scaling {}",
                         keys.key("rope.scaling.attn_factor"), attention, type);
  }
  return ok_status();
}

StatusOr<RopeScaling> read_scaling(const GgufContents& gguf, const ArchitectureKeys& keys,
                                   const ModelConfig& config) {
  const std::string_view unsaid = keys.has("rope.scaling.factor") ? "linear" : "none";
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string_view type,
                            keys.string_or("rope.scaling.type", unsaid));
  if (type != "none" && type != "linear" && type != "yarn") {
    return unimplemented("{} {} is not supported; supported: none, linear, yarn",
                         keys.key("rope.scaling.type"), quote_text(type));
  }
  LOCKSTEP_RETURN_IF_ERROR(refuse_stray_rope_keys(keys, type));
  const TensorView* factors = gguf.tensors.find("rope_freqs.weight");
  if (factors != nullptr) {
    if (type != "none") {
      return unimplemented("{} rope scaling together with rope_freqs.weight is not supported",
                           type);
    }
    LOCKSTEP_ASSIGN_OR_RETURN(RopeFactors divisors,
                              read_rope_factors(*factors, config.rotary_size));
    return RopeScaling(std::move(divisors));
  }
  if (type == "linear") {
    RopeLinear linear;
    LOCKSTEP_ASSIGN_OR_RETURN(linear.factor,
                              keys.number_or("rope.scaling.factor", 1.0, 1.0, kMaxRopeFactor));
    return RopeScaling(linear);
  }
  if (type == "yarn") {
    LOCKSTEP_ASSIGN_OR_RETURN(const RopeYarn yarn, read_yarn(keys, config.max_positions));
    return RopeScaling(yarn);
  }
  return RopeScaling();
}

Status read_rope(const GgufContents& gguf, const Architecture& architecture,
                 const ArchitectureKeys& keys, ModelConfig& config) {
  LOCKSTEP_ASSIGN_OR_RETURN(config.rope.theta,
                            keys.number_or("rope.freq_base", 10000.0, 1.0, kMaxRopeTheta));
  LOCKSTEP_ASSIGN_OR_RETURN(config.rope.scaling, read_scaling(gguf, keys, config));
  config.rotary_interleaved = architecture.rotary_interleaved;
  config.rope_local = config.rope;
  if (!architecture.local_rope) return ok_status();
  config.rope_local = {};
  LOCKSTEP_ASSIGN_OR_RETURN(config.rope_local.theta,
                            keys.number_or("rope.freq_base_swa", 10000.0, 1.0, kMaxRopeTheta));
  return ok_status();
}

// sliding_window_pattern: one boolean a layer, true where it slides, or n.
StatusOr<std::vector<LayerKind>> read_pattern(const ArchitectureKeys& keys, int64_t layers,
                                              std::optional<int64_t> unsaid) {
  constexpr std::string_view kKey = "attention.sliding_window_pattern";
  std::vector<bool> slides(static_cast<size_t>(layers));
  if (keys.holds_array(kKey)) {
    LOCKSTEP_ASSIGN_OR_RETURN(slides, keys.booleans(kKey));
    if (slides.size() != static_cast<size_t>(layers)) {
      return invalid_argument("{} has {} entries for {} layers", keys.key(kKey), slides.size(),
                              layers);
    }
  } else {
    if (!keys.has(kKey) && !unsaid) {
      return unimplemented("{} without {} is not supported for this architecture",
                           keys.key("attention.sliding_window"), keys.key(kKey));
    }
    LOCKSTEP_ASSIGN_OR_RETURN(const int64_t n,
                              keys.integer_or(kKey, unsaid.value_or(0), 0, kMaxLayers));
    for (size_t i = 0; i < slides.size(); ++i) {
      slides[i] = n == 0 || (i + 1) % static_cast<size_t>(n) != 0;
    }
  }
  std::vector<LayerKind> kinds;
  kinds.reserve(slides.size());
  for (const bool s : slides) kinds.push_back(s ? LayerKind::kSliding : LayerKind::kFull);
  return kinds;
}

Status read_windows(const Architecture& architecture, const ArchitectureKeys& keys,
                    ModelConfig& config) {
  constexpr std::string_view kKey = "attention.sliding_window";
  if (!keys.has(kKey) && !architecture.needs_window) {
    config.layer_kinds.assign(static_cast<size_t>(config.layers), LayerKind::kFull);
    return ok_status();
  }
  LOCKSTEP_ASSIGN_OR_RETURN(config.sliding_window, keys.integer(kKey, 1, kMaxPositions));
  LOCKSTEP_ASSIGN_OR_RETURN(config.layer_kinds,
                            read_pattern(keys, config.layers, architecture.window_pattern));
  return ok_status();
}

// attention.scale multiplies the scores; soft caps are 0 where there is none.
Status read_scores(const Architecture& architecture, const ArchitectureKeys& keys,
                   ModelConfig& config) {
  config.query_scale_size =
      config.layers == architecture.layers_of_odd_scale
          ? static_cast<double>(config.hidden_size) / static_cast<double>(config.heads)
          : static_cast<double>(config.head_size);
  if (keys.has("attention.scale")) {
    LOCKSTEP_ASSIGN_OR_RETURN(const double scale,
                              keys.number("attention.scale", 1 / std::sqrt(kMaxQueryScaleSize),
                                          1 / std::sqrt(kMinQueryScaleSize)));
    config.query_scale_size = 1.0 / (scale * scale);
  }
  LOCKSTEP_ASSIGN_OR_RETURN(
      config.attention_soft_cap,
      keys.number_or("attn_logit_softcapping", architecture.attention_soft_cap, 0.0, kMaxSoftCap));
  LOCKSTEP_ASSIGN_OR_RETURN(
      config.final_soft_cap,
      keys.number_or("final_logit_softcapping", architecture.final_soft_cap, 0.0, kMaxSoftCap));
  return ok_status();
}

Status read_token_ids(const GgufMetadata& metadata, ModelConfig& config) {
  LOCKSTEP_ASSIGN_OR_RETURN(config.bos_id,
                            metadata.integer_or("tokenizer.ggml.bos_token_id", -1, 0, INT32_MAX));
  for (const std::string_view name : {"eos", "eot", "eom"}) {
    const std::string key = fmt::format("tokenizer.ggml.{}_token_id", name);
    LOCKSTEP_ASSIGN_OR_RETURN(const int64_t id, metadata.integer_or(key, -1, 0, INT32_MAX));
    if (id >= 0) config.eos_ids.push_back(id);
  }
  return ok_status();
}

}  // namespace

StatusOr<ModelConfig> config_from_gguf(const GgufContents& gguf) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string_view name,
                            gguf.metadata.string("general.architecture"));
  LOCKSTEP_ASSIGN_OR_RETURN(const Architecture* architecture, architecture_of(name));
  const ArchitectureKeys keys(gguf.metadata, std::string(name));
  LOCKSTEP_RETURN_IF_ERROR(refuse_unknown_features(gguf, keys));

  ModelConfig config;
  config.family = name;
  config.layout = WeightLayout::kGguf;
  LOCKSTEP_RETURN_IF_ERROR(read_sizes(gguf, keys, config));
  LOCKSTEP_RETURN_IF_ERROR(read_rope(gguf, *architecture, keys, config));
  LOCKSTEP_RETURN_IF_ERROR(read_windows(*architecture, keys, config));
  LOCKSTEP_RETURN_IF_ERROR(read_scores(*architecture, keys, config));
  LOCKSTEP_RETURN_IF_ERROR(read_token_ids(gguf.metadata, config));
  LOCKSTEP_ASSIGN_OR_RETURN(config.rms_eps,
                            keys.number("attention.layer_norm_rms_epsilon", 0.0, 1.0));
  const auto has = [&](std::string_view tensor) { return gguf.tensors.find(tensor) != nullptr; };
  config.activation = architecture->activation;
  config.tied_embeddings = !has("output.weight");
  config.qkv_bias = architecture->qkv_bias || has("blk.0.attn_q.bias");
  config.attention_output_bias = has("blk.0.attn_output.bias");
  config.mlp_bias = has("blk.0.ffn_gate.bias");
  config.qk_norm = architecture->qk_norm;
  LOCKSTEP_RETURN_IF_ERROR(check_model_config(config));
  return config;
}

}  // namespace lockstep::formats
