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

constexpr int64_t kPositions = 256;
constexpr int64_t kWindowPattern = 2;  // gemma3: every second layer sees everything

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
                          int64_t inputs) {
    const auto add = [&](std::string_view suffix, Shape shape) {
      parts.push_back({fmt::format("model.layers.{}.{}.{}", layer, hugging_face, suffix),
                       fmt::format("blk.{}.{}.{}", layer, ggml, suffix), std::move(shape), false});
    };
    add("weight", {outputs, inputs});
    if (m.bias) add("bias", {outputs});
  };
  norm("input_layernorm", "attn_norm", m.hidden);
  matrix("self_attn.q_proj", "attn_q", q, m.hidden);
  matrix("self_attn.k_proj", "attn_k", kv, m.hidden);
  matrix("self_attn.v_proj", "attn_v", kv, m.hidden);
  matrix("self_attn.o_proj", "attn_output", m.hidden, q);
  if (m.family == "gemma3") {
    norm("self_attn.q_norm", "attn_q_norm", m.head_size);
    norm("self_attn.k_norm", "attn_k_norm", m.head_size);
    norm("pre_feedforward_layernorm", "ffn_norm", m.hidden);
    norm("post_feedforward_layernorm", "post_ffw_norm", m.hidden);
    norm("post_attention_layernorm", "post_attention_norm", m.hidden);
  } else {
    norm("post_attention_layernorm", "ffn_norm", m.hidden);
  }
  matrix("mlp.gate_proj", "ffn_gate", m.intermediate, m.hidden);
  matrix("mlp.up_proj", "ffn_up", m.intermediate, m.hidden);
  matrix("mlp.down_proj", "ffn_down", m.hidden, m.intermediate);
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

// Of a norm: n / 256 in F32; in gemma3's Hugging Face files 1 less, which its definition adds.
TestTensor make_norm(const MadeModel& m, Layout layout, int64_t size, CounterRng& rng) {
  const bool less_one = m.family == "gemma3" && layout == Layout::kHuggingFace;
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

std::string config_json(const MadeModel& m) {
  std::string own;
  if (m.family == "gemma3") {
    own = fmt::format(
        ",\"sliding_window\":{},\"sliding_window_pattern\":{},\"query_pre_attn_scalar\":{},"
        "\"rope_local_base_freq\":10000.0,\"hidden_activation\":\"gelu_pytorch_tanh\"",
        m.window, kWindowPattern, m.head_size);
  } else {
    own = fmt::format(",\"attention_bias\":{0},\"mlp_bias\":{0},\"hidden_act\":\"silu\"", m.bias);
  }
  return fmt::format(
      "{{\"model_type\":\"{}\",\"vocab_size\":{},\"hidden_size\":{},\"intermediate_size\":{},"
      "\"num_hidden_layers\":{},\"num_attention_heads\":{},\"num_key_value_heads\":{},"
      "\"head_dim\":{},\"max_position_embeddings\":{},\"rms_norm_eps\":1e-6,\"rope_theta\":1e4,"
      "\"tie_word_embeddings\":{}{}}}",
      m.family == "gemma3" ? "gemma3_text" : m.family, m.vocab, m.hidden, m.intermediate, m.layers,
      m.heads, m.kv_heads, m.head_size, kPositions, m.tied, own);
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
  if (model.family == "gemma3") {
    set("attention.sliding_window", model.window);
    set("attention.sliding_window_pattern", kWindowPattern);
  }
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
