#include "formats/gguf_config.h"

#include <cstring>
#include <limits>

#include "base/text.h"
#include "base/vocabulary.h"

namespace lockstep::formats {
namespace {

enum class Architecture : uint8_t { kLlama, kGemma3 };

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

 private:
  const GgufMetadata& metadata_;
  const std::string architecture_;
};

StatusOr<Architecture> architecture_of(std::string_view name) {
  if (name == "llama") return Architecture::kLlama;
  if (name == "gemma3") return Architecture::kGemma3;
  return unimplemented("general.architecture {} is not supported; supported: llama, gemma3",
                       quote_text(name));
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

Status read_rope(const GgufContents& gguf, const ArchitectureKeys& keys, ModelConfig& config) {
  LOCKSTEP_ASSIGN_OR_RETURN(config.rope.theta,
                            keys.number_or("rope.freq_base", 10000.0, 1.0, kMaxRopeTheta));
  LOCKSTEP_ASSIGN_OR_RETURN(config.rope_local.theta,
                            keys.number_or("rope.freq_base_swa", 10000.0, 1.0, kMaxRopeTheta));
  const TensorView* factors = gguf.tensors.find("rope_freqs.weight");
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string_view type,
                            keys.string_or("rope.scaling.type", "none"));
  if (type != "none" && type != "linear") {
    return unimplemented("{} {} is not supported; supported: none, linear",
                         keys.key("rope.scaling.type"), quote_text(type));
  }
  if (type == "linear") {
    if (factors != nullptr) {
      return unimplemented("linear rope scaling together with rope_freqs.weight is not supported");
    }
    RopeLinear linear;
    LOCKSTEP_ASSIGN_OR_RETURN(linear.factor, keys.number_or("rope.scaling.factor", 1.0, 1.0, 1e6));
    config.rope.scaling = linear;
  } else if (factors != nullptr) {
    LOCKSTEP_ASSIGN_OR_RETURN(config.rope.scaling, read_rope_factors(*factors, config.rotary_size));
  }
  return ok_status();
}

// Every sixth layer sees everything; the file states neither this nor, of the 27B model alone (62
// layers), the attention scale.
Status read_gemma3(const ArchitectureKeys& keys, ModelConfig& config) {
  constexpr int64_t kPattern = 6;
  constexpr int64_t kLayersOf27B = 62;
  config.activation = HiddenActivation::kGeluTanh;
  LOCKSTEP_ASSIGN_OR_RETURN(
      const int64_t pattern,
      keys.integer_or("attention.sliding_window_pattern", kPattern, 1, kMaxLayers));
  for (int64_t i = 0; i < config.layers; ++i) {
    config.layer_kinds.push_back((i + 1) % pattern == 0 ? LayerKind::kFull : LayerKind::kSliding);
  }
  LOCKSTEP_ASSIGN_OR_RETURN(config.sliding_window,
                            keys.integer("attention.sliding_window", 1, kMaxPositions));
  LOCKSTEP_ASSIGN_OR_RETURN(config.final_soft_cap,
                            keys.number_or("final_logit_softcapping", 0.0, 0.0, 1e6));
  if (config.layers == kLayersOf27B) {
    config.query_scale_size =
        static_cast<double>(config.hidden_size) / static_cast<double>(config.heads);
  }
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
  LOCKSTEP_ASSIGN_OR_RETURN(const Architecture architecture, architecture_of(name));
  const ArchitectureKeys keys(gguf.metadata, std::string(name));
  LOCKSTEP_RETURN_IF_ERROR(refuse_unknown_features(gguf, keys));

  ModelConfig config;
  config.family = name;
  config.layout = WeightLayout::kGguf;
  LOCKSTEP_RETURN_IF_ERROR(read_sizes(gguf, keys, config));
  LOCKSTEP_RETURN_IF_ERROR(read_rope(gguf, keys, config));
  LOCKSTEP_RETURN_IF_ERROR(read_token_ids(gguf.metadata, config));
  LOCKSTEP_ASSIGN_OR_RETURN(config.rms_eps,
                            keys.number("attention.layer_norm_rms_epsilon", 0.0, 1.0));
  config.tied_embeddings = gguf.tensors.find("output.weight") == nullptr;
  config.attention_bias = gguf.tensors.find("blk.0.attn_q.bias") != nullptr;
  config.mlp_bias = gguf.tensors.find("blk.0.ffn_gate.bias") != nullptr;
  config.query_scale_size = static_cast<double>(config.head_size);
  if (architecture == Architecture::kGemma3) {
    LOCKSTEP_RETURN_IF_ERROR(read_gemma3(keys, config));
  } else {
    config.layer_kinds.assign(static_cast<size_t>(config.layers), LayerKind::kFull);
  }
  LOCKSTEP_RETURN_IF_ERROR(check_model_config(config));
  return config;
}

}  // namespace lockstep::formats
