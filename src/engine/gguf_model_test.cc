// A model as a GGUF file computes what it computes as a Hugging Face directory.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "device/quant_blocks.h"
#include "engine/testing/golden.h"
#include "engine/testing/loaded.h"
#include "engine/testing/made_model.h"
#include "formats/testing/gguf_builder.h"

namespace lockstep::engine {
namespace {

using formats::Checkpoint;
using formats::ModelConfig;

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
template <class T>
std::string text_of(const std::vector<T>& values) {
  return text_of(std::as_bytes(std::span(values)));
}

std::string ggml_name(std::string_view name) {
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"model.embed_tokens", "token_embd"},
      {"model.norm", "output_norm"},
      {"lm_head", "output"},
      {"model.layers", "blk"},
      {"input_layernorm", "attn_norm"},
      {"post_attention_layernorm", "ffn_norm"},
      {"self_attn.q_proj", "attn_q"},
      {"self_attn.k_proj", "attn_k"},
      {"self_attn.v_proj", "attn_v"},
      {"self_attn.o_proj", "attn_output"},
      {"mlp.gate_proj", "ffn_gate"},
      {"mlp.up_proj", "ffn_up"},
      {"mlp.down_proj", "ffn_down"},
  };
  std::string out(name);
  for (const auto& [from, to] : kNames) {
    if (const size_t at = out.find(from); at != std::string::npos) out.replace(at, from.size(), to);
  }
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
std::vector<float> rope_divisors(const ModelConfig& config) {
  const auto& rule = std::get<formats::RopeLlama3>(config.rope.scaling);
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

formats::GgufBuilder metadata_of(const ModelConfig& config) {
  formats::GgufBuilder file;
  file.set_string("general.architecture", "llama");
  const auto set = [&](std::string_view key, int64_t value) {
    file.set_u32(fmt::format("llama.{}", key), static_cast<uint32_t>(value));
  };
  set("block_count", config.layers);
  set("context_length", config.max_positions);
  set("embedding_length", config.hidden_size);
  set("feed_forward_length", config.intermediate_size);
  set("attention.head_count", config.heads);
  set("attention.head_count_kv", config.kv_heads);
  set("rope.dimension_count", config.rotary_size);
  file.set_f32("llama.rope.freq_base", static_cast<float>(config.rope.theta));
  file.set_f32("llama.attention.layer_norm_rms_epsilon", static_cast<float>(config.rms_eps));
  return file;
}

// A llama directory of BF16 tensors as converters write it: matrices as they are, q and k
// reordered, norms widened to F32, rope scaling as divisors.
std::string converted(const Checkpoint& source) {
  constexpr uint32_t kF32 = 0;
  constexpr uint32_t kBf16 = 30;
  const ModelConfig& config = source.config();
  formats::GgufBuilder file = metadata_of(config);
  for (const std::string& name : source.tensor_names()) {
    const TensorView view = source.tensor(name).value();
    formats::GgufTensorSource tensor = {.name = ggml_name(name),
                                        .dims = {view.shape.rbegin(), view.shape.rend()},
                                        .type = kBf16,
                                        .data = text_of(view.bytes),
                                        .offset = {}};
    if (view.shape.size() == 1) {
      std::vector<float> values(static_cast<size_t>(view.shape[0]));
      device::dequantise(view.dtype, view.bytes.data(), values);
      tensor.type = kF32;
      tensor.data = text_of(values);
    } else if (name.find("q_proj") != name.npos || name.find("k_proj") != name.npos) {
      tensor.data = interleaved_rows(view, config.head_size);
    }
    file.add_tensor(std::move(tensor));
  }
  const std::vector<float> divisors = rope_divisors(config);
  file.add_tensor({.name = "rope_freqs.weight",
                   .dims = {divisors.size()},
                   .type = kF32,
                   .data = text_of(divisors),
                   .offset = {}});
  return file.build();
}

class GgufModelTest : public ::testing::Test {
 protected:
  std::vector<float> logits(const std::string& path, const std::vector<int64_t>& ids) const {
    const auto kind = testing::device_kinds().back();
    return testing::load(path, testing::make(kind, testing::profile_of(Arithmetic::kF32)))
        .score(ids);
  }
  const formats::TestFolder folder_;
};

TEST_F(GgufModelTest, LlamaWithReorderedHeadsAndRopeDivisorsMeetsItsGolden) {
  const auto source = formats::open_checkpoint(testing::golden_path("llama"));
  ASSERT_TRUE(source.ok()) << source.status();
  folder_.write("model.gguf", converted(**source));
  const testing::Golden golden("llama");
  for (int i = 0; i < testing::kGoldenPrompts; ++i) {
    const std::string n = std::to_string(i);
    EXPECT_LE(
        testing::largest_difference(logits(folder_.path("model.gguf"), golden.ids("tokens_" + n)),
                                    golden.floats("logits_" + n)),
        testing::kF32Bound)
        << "prompt " << i;
  }
}

TEST_F(GgufModelTest, Gemma3GivesTheSameBitsAsItsDirectory) {
  const testing::MadeModel model = {.family = "gemma3", .layers = 4, .window = 7};
  testing::write_hugging_face(model, folder_);
  testing::write_gguf(model, folder_);
  std::vector<int64_t> ids(40);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(i) * 5 % model.vocab;
  EXPECT_TRUE(
      testing::same_bits(logits(folder_.path("model.gguf"), ids), logits(folder_.path(), ids)));
}

}  // namespace
}  // namespace lockstep::engine
