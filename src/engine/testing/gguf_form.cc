#include "engine/testing/gguf_form.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/bytes.h"
#include "device/quant_blocks.h"
#include "formats/testing/gguf_builder.h"

namespace lockstep::engine::testing {
namespace {

using formats::ModelConfig;

constexpr uint32_t kF32 = 0;
constexpr uint32_t kBf16 = 30;

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
std::string text_of(const std::vector<float>& values) {
  return text_of(std::as_bytes(std::span(values)));
}

bool is_gemma(const ModelConfig& config) { return config.family.starts_with("gemma"); }

std::string architecture_of(const ModelConfig& config) {
  return config.family == "mistral" ? "llama" : config.family;
}

std::string ggml_name(const ModelConfig& config, std::string_view name) {
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"model.embed_tokens", "token_embd"},
      {"model.norm", "output_norm"},
      {"lm_head", "output"},
      {"model.layers", "blk"},
      {"input_layernorm", "attn_norm"},
      {"pre_feedforward_layernorm", "ffn_norm"},
      {"post_feedforward_layernorm", "post_ffw_norm"},
      {"self_attn.q_norm", "attn_q_norm"},
      {"self_attn.k_norm", "attn_k_norm"},
      {"self_attn.q_proj", "attn_q"},
      {"self_attn.k_proj", "attn_k"},
      {"self_attn.v_proj", "attn_v"},
      {"self_attn.o_proj", "attn_output"},
      {"mlp.gate_proj", "ffn_gate"},
      {"mlp.up_proj", "ffn_up"},
      {"mlp.down_proj", "ffn_down"},
  };
  std::string out(name);
  const auto rename = [&](std::string_view from, std::string_view to) {
    if (const size_t at = out.find(from); at != std::string::npos) out.replace(at, from.size(), to);
  };
  for (const auto& [from, to] : kNames) rename(from, to);
  rename("post_attention_layernorm", is_gemma(config) ? "post_attention_norm" : "ffn_norm");
  return out;
}

// Rows of q or k from half-split to interleaved order: pair i of a head, rows (i, i + size / 2),
// becomes rows (2 i, 2 i + 1).
std::string interleaved_rows(const TensorView& view, int64_t head_size) {
  const size_t row_bytes = view.bytes.size() / static_cast<size_t>(view.shape[0]);
  std::string out;
  for (int64_t row = 0; row < view.shape[0]; ++row) {
    const int64_t head = row / head_size;
    const int64_t i = row % head_size;
    const int64_t source = head * head_size + i / 2 + i % 2 * (head_size / 2);
    out += text_of(view.bytes.subspan(static_cast<size_t>(source) * row_bytes, row_bytes));
  }
  return out;
}

// Llama 3's scaling as GGUF stores it: what each inverse frequency is divided by.
std::vector<float> rope_divisors(const ModelConfig& config, const formats::RopeLlama3& rule) {
  const auto original = static_cast<double>(rule.original_max_positions);
  std::vector<float> divisors;
  for (int64_t i = 0; i < config.rotary_size / 2; ++i) {
    const double exponent = 2.0 * static_cast<double>(i) / static_cast<double>(config.rotary_size);
    const double turns = original / (2 * std::numbers::pi * std::pow(config.rope.theta, exponent));
    const double kept = std::clamp(
        (turns - rule.low_freq_factor) / (rule.high_freq_factor - rule.low_freq_factor), 0.0, 1.0);
    divisors.push_back(static_cast<float>(1.0 / ((1.0 - kept) / rule.factor + kept)));
  }
  return divisors;
}

class Writer {
 public:
  explicit Writer(const ModelConfig& config) : config_(config) {
    file_.set_string("general.architecture", architecture_of(config));
    write_sizes();
    write_rope();
    if (config.sliding_window > 0) write_windows();
    if (config.attention_soft_cap > 0) number("attn_logit_softcapping", config.attention_soft_cap);
    if (config.final_soft_cap > 0) number("final_logit_softcapping", config.final_soft_cap);
    if (config.query_scale_size != static_cast<double>(config.head_size)) {
      number("attention.scale", 1.0 / std::sqrt(config.query_scale_size));
    }
  }

  void add(const std::string& name, const TensorView& view) {
    formats::GgufTensorSource tensor = {.name = ggml_name(config_, name),
                                        .dims = {view.shape.rbegin(), view.shape.rend()},
                                        .type = kBf16,
                                        .data = text_of(view.bytes),
                                        .offset = {}};
    if (view.shape.size() == 1) {
      std::vector<float> values(static_cast<size_t>(view.shape[0]));
      device::dequantise(view.dtype, view.bytes.data(), values);
      if (is_gemma(config_) && name.ends_with("norm.weight")) {
        for (float& value : values) value += 1.0f;
      }
      tensor.type = kF32;
      tensor.data = text_of(values);
    } else if (architecture_of(config_) == "llama" &&
               (name.find("q_proj") != name.npos || name.find("k_proj") != name.npos)) {
      tensor.data = interleaved_rows(view, config_.head_size);
    }
    file_.add_tensor(std::move(tensor));
  }

  std::string build() const { return file_.build(); }

 private:
  std::string key(std::string_view suffix) const {
    return fmt::format("{}.{}", architecture_of(config_), suffix);
  }
  void integer(std::string_view suffix, int64_t value) {
    file_.set_u32(key(suffix), static_cast<uint32_t>(value));
  }
  void number(std::string_view suffix, double value) {
    file_.set_f32(key(suffix), static_cast<float>(value));
  }

  void write_sizes() {
    integer("block_count", config_.layers);
    integer("context_length", config_.max_positions);
    integer("embedding_length", config_.hidden_size);
    integer("feed_forward_length", config_.intermediate_size);
    integer("attention.head_count", config_.heads);
    integer("attention.head_count_kv", config_.kv_heads);
    integer("attention.key_length", config_.head_size);
    integer("attention.value_length", config_.head_size);
    number("attention.layer_norm_rms_epsilon", config_.rms_eps);
  }

  void write_rope() {
    integer("rope.dimension_count", config_.rotary_size);
    number("rope.freq_base", config_.rope.theta);
    const formats::RopeScaling& scaling = config_.rope.scaling;
    if (const auto* linear = std::get_if<formats::RopeLinear>(&scaling)) {
      file_.set_string(key("rope.scaling.type"), "linear");
      number("rope.scaling.factor", linear->factor);
    } else if (const auto* yarn = std::get_if<formats::RopeYarn>(&scaling)) {
      file_.set_string(key("rope.scaling.type"), "yarn");
      number("rope.scaling.factor", yarn->factor);
      integer("rope.scaling.original_context_length", yarn->original_max_positions);
    } else if (const auto* llama3 = std::get_if<formats::RopeLlama3>(&scaling)) {
      const std::vector<float> divisors = rope_divisors(config_, *llama3);
      file_.add_tensor({.name = "rope_freqs.weight",
                        .dims = {divisors.size()},
                        .type = kF32,
                        .data = text_of(divisors),
                        .offset = {}});
    }
  }

  // The pattern as one boolean a layer, where the architecture's own differs.
  void write_windows() {
    integer("attention.sliding_window", config_.sliding_window);
    if (config_.family == "mistral") return;
    ByteWriter pattern;
    pattern.number(static_cast<uint32_t>(formats::GgufType::kBool));
    pattern.number<uint64_t>(config_.layer_kinds.size());
    for (const formats::LayerKind kind : config_.layer_kinds) {
      pattern.number<uint8_t>(kind == formats::LayerKind::kSliding ? 1 : 0);
    }
    file_.set_raw(key("attention.sliding_window_pattern"),
                  static_cast<uint32_t>(formats::GgufType::kArray), pattern.take());
  }

  const ModelConfig& config_;
  formats::GgufBuilder file_;
};

}  // namespace

std::string gguf_form(const formats::Checkpoint& source) {
  Writer writer(source.config());
  for (const std::string& name : source.tensor_names()) {
    writer.add(name, source.tensor(name).value());
  }
  return writer.build();
}

}  // namespace lockstep::engine::testing
