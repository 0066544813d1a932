#include "formats/model_config.h"

#include <algorithm>
#include <map>

#include "base/math.h"
#include "base/tensor_view.h"
#include "base/vocabulary.h"
#include "formats/json.h"

namespace lockstep::formats {
namespace {

struct SizeRule {
  std::string_view what;
  int64_t value;
  int64_t most;
};

Status check_sizes(const ModelConfig& c) {
  const SizeRule rules[] = {
      {"vocabulary size", c.vocab_size, Vocabulary::kMaxSize},
      {"hidden size", c.hidden_size, kMaxHiddenSize},
      {"number of layers", c.layers, kMaxLayers},
      {"number of attention heads", c.heads, kMaxHeads},
      {"number of key/value heads", c.kv_heads, kMaxHeads},
      {"head size", c.head_size, kMaxHeadSize},
      {"intermediate size", c.intermediate_size, kMaxIntermediateSize},
      {"number of positions", c.max_positions, kMaxPositions},
      {"rotary size", c.rotary_size, c.head_size},
  };
  for (const SizeRule& rule : rules) {
    if (!(1 <= rule.value && rule.value <= rule.most)) {
      return invalid_argument("{} {} is outside [1, {}]", rule.what, rule.value, rule.most);
    }
  }
  return ok_status();
}

std::string rope_json(const RopeConfig& rope) {
  std::string out = fmt::format("{{\"theta\":{}", rope.theta);
  if (const auto* linear = std::get_if<RopeLinear>(&rope.scaling)) {
    out += fmt::format(",\"linear\":{}", linear->factor);
  } else if (const auto* llama3 = std::get_if<RopeLlama3>(&rope.scaling)) {
    out += fmt::format(",\"llama3\":[{},{},{},{}]", llama3->factor, llama3->low_freq_factor,
                       llama3->high_freq_factor, llama3->original_max_positions);
  } else if (const auto* factors = std::get_if<RopeFactors>(&rope.scaling)) {
    out += fmt::format(",\"factors\":{}", factors->divisors.size());
  } else if (const auto* yarn = std::get_if<RopeYarn>(&rope.scaling)) {
    out +=
        fmt::format(",\"yarn\":[{},{},{},{},{},{}]", yarn->factor, yarn->beta_fast, yarn->beta_slow,
                    yarn->attention_factor, yarn->original_max_positions, yarn->truncate);
  }
  return out + "}";
}

// The blend is taken over logarithms to the base theta.
Status check_rope(const RopeConfig& rope) {
  const auto* yarn = std::get_if<RopeYarn>(&rope.scaling);
  if (yarn == nullptr) return ok_status();
  if (!(rope.theta > 1.0)) {
    return invalid_argument("rope base {} with yarn scaling; it must be above 1", rope.theta);
  }
  if (!(yarn->beta_slow <= yarn->beta_fast)) {
    return invalid_argument("yarn's beta_slow {} is above its beta_fast {}", yarn->beta_slow,
                            yarn->beta_fast);
  }
  return ok_status();
}

std::string kinds_json(const std::vector<LayerKind>& kinds) {
  std::string out = "\"";
  for (const LayerKind kind : kinds) out += kind == LayerKind::kFull ? 'f' : 's';
  return out + "\"";
}

}  // namespace

double yarn_attention_factor(double factor, double weight) {
  return 1.0 + 0.1 * weight * log_f64(factor);
}

Status check_model_config(const ModelConfig& c) {
  LOCKSTEP_RETURN_IF_ERROR(check_sizes(c));
  if (c.heads % c.kv_heads != 0) {
    return invalid_argument("{} attention heads are not a multiple of {} key/value heads", c.heads,
                            c.kv_heads);
  }
  if (c.head_size % 2 != 0) {
    return invalid_argument("head size {} is odd; it must be even", c.head_size);
  }
  if (c.rotary_size % 2 != 0) {
    return invalid_argument("rotary size {} is odd; it must be even", c.rotary_size);
  }
  LOCKSTEP_RETURN_IF_ERROR(check_rope(c.rope));
  LOCKSTEP_RETURN_IF_ERROR(check_rope(c.rope_local));
  if (c.layer_kinds.size() != static_cast<size_t>(c.layers)) {
    return invalid_argument("{} layer types for {} layers", c.layer_kinds.size(), c.layers);
  }
  const bool slides = std::find(c.layer_kinds.begin(), c.layer_kinds.end(), LayerKind::kSliding) !=
                      c.layer_kinds.end();
  if (slides && !(1 <= c.sliding_window && c.sliding_window <= kMaxPositions)) {
    return invalid_argument("sliding window {} is outside [1, {}]", c.sliding_window,
                            kMaxPositions);
  }
  return ok_status();
}

std::string canonical_json(const ModelConfig& c) {
  const std::map<std::string_view, std::string> fields = {
      {"activation", c.activation == HiddenActivation::kSilu ? "\"silu\"" : "\"gelu_tanh\""},
      {"attention_output_bias", fmt::format("{}", c.attention_output_bias)},
      {"attention_soft_cap", fmt::format("{}", c.attention_soft_cap)},
      {"bos_id", fmt::format("{}", c.bos_id)},
      {"eos_ids", shape_string(c.eos_ids)},
      {"family", json_escaped(c.family)},
      {"final_soft_cap", fmt::format("{}", c.final_soft_cap)},
      {"head_size", fmt::format("{}", c.head_size)},
      {"heads", fmt::format("{}", c.heads)},
      {"hidden_size", fmt::format("{}", c.hidden_size)},
      {"intermediate_size", fmt::format("{}", c.intermediate_size)},
      {"kv_heads", fmt::format("{}", c.kv_heads)},
      {"layer_kinds", kinds_json(c.layer_kinds)},
      {"layers", fmt::format("{}", c.layers)},
      {"layout", c.layout == WeightLayout::kGguf ? "\"gguf\"" : "\"hugging_face\""},
      {"max_positions", fmt::format("{}", c.max_positions)},
      {"mlp_bias", fmt::format("{}", c.mlp_bias)},
      {"qk_norm", fmt::format("{}", c.qk_norm)},
      {"qkv_bias", fmt::format("{}", c.qkv_bias)},
      {"query_scale_size", fmt::format("{}", c.query_scale_size)},
      {"rms_eps", fmt::format("{}", c.rms_eps)},
      {"rope", rope_json(c.rope)},
      {"rope_local", rope_json(c.rope_local)},
      {"rotary_interleaved", fmt::format("{}", c.rotary_interleaved)},
      {"rotary_size", fmt::format("{}", c.rotary_size)},
      {"sliding_window", fmt::format("{}", c.sliding_window)},
      {"tied_embeddings", fmt::format("{}", c.tied_embeddings)},
      {"vocab_size", fmt::format("{}", c.vocab_size)},
  };
  std::string out = "{";
  for (const auto& [key, value] : fields) {
    if (out.size() > 1) out += ',';
    out += fmt::format("{}:{}", json_escaped(key), value);
  }
  return out + "}";
}

}  // namespace lockstep::formats
