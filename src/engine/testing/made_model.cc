#include "engine/testing/made_model.h"

#include <vector>

#include "base/float16.h"
#include "base/rng.h"
#include "base/status.h"
#include "device/testing/test_tensors.h"
#include "formats/safetensors_writer.h"
#include "formats/testing/gguf_builder.h"

namespace lockstep::engine::testing {
namespace {

using device::contract::TestTensor;

constexpr int64_t kPositions = 320;    // more than a chunk of attention
constexpr int64_t kWindowPattern = 2;  // gemma: every second layer sees everything
constexpr float kSoftCap = 4.0f;       // gemma2: small, so that it bends

bool is_gemma(const MadeModel& m) { return m.family.starts_with("gemma"); }
bool has_qk_norm(const MadeModel& m) { return m.family == "qwen3" || m.family == "gemma3"; }
bool has_qkv_bias(const MadeModel& m) { return m.bias || m.family == "qwen2"; }
bool has_output_bias(const MadeModel& m) { return m.bias && m.family != "qwen2"; }
bool has_mlp_bias(const MadeModel& m) { return m.bias && m.family == "llama"; }

// One tensor in both spellings. A norm is small, so that the matrices, whose elements are near 1,
// keep activations in a range where every function bends.
struct Part {
  std::string hugging_face;
  std::string ggml;
  Shape shape;
  bool norm = false;
};

std::vector<Part> layer_parts(const MadeModel& m, int64_t layer) {
  const int64_t q = m.heads * m.head_size;
  const int64_t kv = m.kv_heads * m.head_size;
  std::vector<Part> parts;
  const auto norm = [&](std::string_view hugging_face, std::string_view ggml, int64_t size) {
    parts.push_back({fmt::format("model.layers.{}.{}.weight", layer, hugging_face),
                     fmt::format("blk.{}.{}.weight", layer, ggml),
                     {size},
                     true});
  };
  const auto matrix = [&](std::string_view hugging_face, std::string_view ggml, int64_t outputs,
                          int64_t inputs, bool bias) {
    const auto add = [&](std::string_view suffix, Shape shape) {
      parts.push_back({fmt::format("model.layers.{}.{}.{}", layer, hugging_face, suffix),
                       fmt::format("blk.{}.{}.{}", layer, ggml, suffix), std::move(shape), false});
    };
    add("weight", {outputs, inputs});
    if (bias) add("bias", {outputs});
  };
  norm("input_layernorm", "attn_norm", m.hidden);
  matrix("self_attn.q_proj", "attn_q", q, m.hidden, has_qkv_bias(m));
  matrix("self_attn.k_proj", "attn_k", kv, m.hidden, has_qkv_bias(m));
  matrix("self_attn.v_proj", "attn_v", kv, m.hidden, has_qkv_bias(m));
  matrix("self_attn.o_proj", "attn_output", m.hidden, q, has_output_bias(m));
  if (has_qk_norm(m)) {
    norm("self_attn.q_norm", "attn_q_norm", m.head_size);
    norm("self_attn.k_norm", "attn_k_norm", m.head_size);
  }
  if (is_gemma(m)) {
    norm("pre_feedforward_layernorm", "ffn_norm", m.hidden);
    norm("post_feedforward_layernorm", "post_ffw_norm", m.hidden);
    norm("post_attention_layernorm", "post_attention_norm", m.hidden);
  } else {
    norm("post_attention_layernorm", "ffn_norm", m.hidden);
  }
  matrix("mlp.gate_proj", "ffn_gate", m.intermediate, m.hidden, has_mlp_bias(m));
  matrix("mlp.up_proj", "ffn_up", m.intermediate, m.hidden, has_mlp_bias(m));
  matrix("mlp.down_proj", "ffn_down", m.hidden, m.intermediate, has_mlp_bias(m));
  return parts;
}

std::vector<Part> all_parts(const MadeModel& m) {
  std::vector<Part> parts = {
      {"model.embed_tokens.weight", "token_embd.weight", {m.vocab, m.hidden}, false},
      {"model.norm.weight", "output_norm.weight", {m.hidden}, true}};
  if (!m.tied) parts.push_back({"lm_head.weight", "output.weight", {m.vocab, m.hidden}, false});
  for (int64_t i = 0; i < m.layers; ++i) {
    for (Part& part : layer_parts(m, i)) parts.push_back(std::move(part));
  }
  return parts;
}

enum class Layout : uint8_t { kHuggingFace, kGguf };

// Of a norm: n / 256 in F32; in gemma's Hugging Face files 1 less, which its definition adds.
TestTensor make_norm(const MadeModel& m, Layout layout, int64_t size, CounterRng& rng) {
  const bool less_one = is_gemma(m) && layout == Layout::kHuggingFace;
  std::vector<float> values;
  for (int64_t i = 0; i < size; ++i) {
    const auto n = static_cast<float>(rng.between(1, 24));
    values.push_back(n / 256.0f - (less_one ? 1.0f : 0.0f));
  }
  const auto bytes = std::as_bytes(std::span(values));
  return {DType::kF32, {size}, {bytes.begin(), bytes.end()}};
}

// A bias of a quantised model is F32.
TestTensor make(const MadeModel& m, Layout layout, const Part& part, CounterRng& rng) {
  if (part.norm) return make_norm(m, layout, part.shape[0], rng);
  if (part.shape.size() == 2) {
    return device::contract::random_tensor(m.dtype, part.shape[0], part.shape[1], rng);
  }
  const DType dtype = dtype_info(m.dtype).quantised() ? DType::kF32 : m.dtype;
  return device::contract::random_tensor(dtype, part.shape[0], 0, rng);
}

// What the family adds to the fields that all have.
std::string own_fields(const MadeModel& m) {
  if (is_gemma(m)) {
    std::string out = fmt::format(
        R"("sliding_window":{},"sliding_window_pattern":{},"query_pre_attn_scalar":{},
           "hidden_activation":"gelu_pytorch_tanh")",
        m.window, kWindowPattern, m.head_size);
    if (m.family == "gemma2") {
      out +=
          fmt::format(R"(,"attn_logit_softcapping":{0},"final_logit_softcapping":{0})", kSoftCap);
    }
    return out;
  }
  const std::string window = m.window > 0 ? std::to_string(m.window) : "null";
  if (m.family == "mistral") return fmt::format(R"("sliding_window":{})", window);
  std::string out = fmt::format(R"("attention_bias":{0},"mlp_bias":{0})", m.bias);
  if (m.family.starts_with("qwen")) {
    out += fmt::format(R"(,"use_sliding_window":true,"sliding_window":{},"max_window_layers":1)",
                       window);
  }
  if (m.family == "qwen3") {
    out += R"(,"rope_scaling":{"rope_type":"yarn","factor":4.0,
                "original_max_position_embeddings":80})";
  }
  return out;
}

std::string config_json(const MadeModel& m) {
  return fmt::format(
      R"({{"model_type":"{}","vocab_size":{},"hidden_size":{},"intermediate_size":{},
           "num_hidden_layers":{},"num_attention_heads":{},"num_key_value_heads":{},
           "head_dim":{},"max_position_embeddings":{},"rms_norm_eps":1e-6,"rope_theta":1e4,
           "tie_word_embeddings":{},{}}})",
      m.family == "gemma3" ? "gemma3_text" : m.family, m.vocab, m.hidden, m.intermediate, m.layers,
      m.heads, m.kv_heads, m.head_size, kPositions, m.tied, own_fields(m));
}

void must(const Status& status) { ASSERT_TRUE(status.ok()) << status; }

// REQUIRES a type that GGUF has.
uint32_t ggml_type(DType dtype) {
  uint32_t number = 0;
  while (dtype_from_ggml(number) != dtype) ++number;
  return number;
}

std::string_view as_text(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

void write_hugging_face(const MadeModel& model, const formats::TestFolder& folder) {
  folder.write("config.json", config_json(model));
  CounterRng rng(1);
  std::vector<formats::TensorSpec> specs;
  std::vector<TestTensor> tensors;
  for (const Part& part : all_parts(model)) {
    tensors.push_back(make(model, Layout::kHuggingFace, part, rng));
    specs.push_back({part.hugging_face, tensors.back().dtype, part.shape});
  }
  auto writer = formats::SafetensorsWriter::create(folder.path("model.safetensors"), specs);
  must(writer.status());
  for (const TestTensor& tensor : tensors) must(writer->append(tensor.bytes));
  must(writer->finish());
}

void write_gguf(const MadeModel& model, const formats::TestFolder& folder) {
  formats::GgufBuilder file;
  const auto set = [&](std::string_view key, int64_t value) {
    file.set_u32(fmt::format("{}.{}", model.family, key), static_cast<uint32_t>(value));
  };
  file.set_string("general.architecture", model.family);
  set("block_count", model.layers);
  set("context_length", kPositions);
  set("embedding_length", model.hidden);
  set("feed_forward_length", model.intermediate);
  set("attention.head_count", model.heads);
  set("attention.head_count_kv", model.kv_heads);
  set("attention.key_length", model.head_size);
  set("attention.value_length", model.head_size);
  set("rope.dimension_count", model.head_size);
  if (model.window > 0) set("attention.sliding_window", model.window);
  if (is_gemma(model)) set("attention.sliding_window_pattern", kWindowPattern);
  file.set_f32(model.family + ".attention.layer_norm_rms_epsilon", 1e-6f);
  CounterRng rng(1);
  for (const Part& part : all_parts(model)) {
    const TestTensor tensor = make(model, Layout::kGguf, part, rng);
    file.add_tensor({.name = part.ggml,
                     .dims = {part.shape.rbegin(), part.shape.rend()},
                     .type = ggml_type(tensor.dtype),
                     .data = std::string(as_text(tensor.bytes)),
                     .offset = {}});
  }
  folder.write("model.gguf", file.build());
}

}  // namespace lockstep::engine::testing
