#include "formats/gguf_config.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/bytes.h"
#include "formats/testing/gguf_builder.h"
#include "formats/testing/refusal.h"

namespace lockstep::formats {
namespace {

StatusOr<ModelConfig> configure(const GgufBuilder& builder) {
  const std::string file = builder.build();
  LOCKSTEP_ASSIGN_OR_RETURN(const GgufContents gguf, parse_gguf(as_bytes(file)));
  return config_from_gguf(gguf);
}

void refuse(const GgufBuilder& builder, std::string_view part) {
  expect_refused(configure(builder), part);
}

std::string floats(std::initializer_list<float> values) {
  ByteWriter writer;
  for (const float value : values) writer.number(value);
  return writer.take();
}

GgufBuilder tiny_gemma3_gguf() {
  GgufBuilder b;
  b.set_string("general.architecture", "gemma3")
      .set_u32("gemma3.block_count", 7)
      .set_u32("gemma3.context_length", 64)
      .set_u32("gemma3.embedding_length", 8)
      .set_u32("gemma3.feed_forward_length", 16)
      .set_u32("gemma3.attention.head_count", 2)
      .set_u32("gemma3.attention.head_count_kv", 1)
      .set_u32("gemma3.attention.key_length", 6)
      .set_u32("gemma3.attention.value_length", 6)
      .set_f32("gemma3.attention.layer_norm_rms_epsilon", 1e-6f)
      .set_u32("gemma3.attention.sliding_window", 16)
      .set_f32("gemma3.rope.freq_base", 1000000.0f)
      .set_string("gemma3.rope.scaling.type", "linear")
      .set_f32("gemma3.rope.scaling.factor", 8.0f);
  b.add_tensor({.name = "token_embd.weight", .dims = {8, 6}, .data = {}, .offset = {}});
  return b;
}

TEST(GgufConfig, LlamaFieldsAreRead) {
  const auto config = configure(tiny_llama_gguf());
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->family, "llama");
  EXPECT_EQ(config->layout, WeightLayout::kGguf);
  EXPECT_EQ(config->vocab_size, 6);
  EXPECT_EQ(config->layers, 2);
  EXPECT_EQ(config->heads, 2);
  EXPECT_EQ(config->kv_heads, 1);
  EXPECT_EQ(config->head_size, 4);
  EXPECT_EQ(config->rotary_size, 4);
  EXPECT_EQ(config->query_scale_size, 4.0);
  EXPECT_EQ(config->rope.theta, 500000.0);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(config->rope.scaling));
  EXPECT_EQ(config->rms_eps, static_cast<double>(1e-5f));
  EXPECT_TRUE(config->tied_embeddings);
  EXPECT_FALSE(config->qkv_bias);
  EXPECT_EQ(config->bos_id, 0);
  EXPECT_EQ(config->eos_ids, std::vector<int64_t>{0});
  EXPECT_EQ(config->layer_kinds, std::vector<LayerKind>(2, LayerKind::kFull));
}

TEST(GgufConfig, Gemma3FieldsAreRead) {
  const auto config = configure(tiny_gemma3_gguf());
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->family, "gemma3");
  EXPECT_EQ(config->activation, HiddenActivation::kGeluTanh);
  EXPECT_EQ(config->head_size, 6);
  EXPECT_EQ(config->sliding_window, 16);
  EXPECT_EQ(std::get<RopeLinear>(config->rope.scaling).factor, 8.0);
  EXPECT_EQ(config->rope_local.theta, 10000.0);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(config->rope_local.scaling));
  std::vector<LayerKind> expected(7, LayerKind::kSliding);
  expected[5] = LayerKind::kFull;
  EXPECT_EQ(config->layer_kinds, expected);
}

// The tiny llama file as another architecture, whose own keys are set.
GgufBuilder tiny_gguf(std::string_view architecture) {
  GgufBuilder b = tiny_llama_gguf().set_string("general.architecture", architecture);
  const auto key = [&](std::string_view suffix) {
    return fmt::format("{}.{}", architecture, suffix);
  };
  b.set_u32(key("block_count"), 2)
      .set_u32(key("context_length"), 64)
      .set_u32(key("embedding_length"), 8)
      .set_u32(key("feed_forward_length"), 16)
      .set_u32(key("attention.head_count"), 2)
      .set_u32(key("attention.head_count_kv"), 1)
      .set_f32(key("attention.layer_norm_rms_epsilon"), 1e-6f)
      .set_f32(key("rope.freq_base"), 1000000.0f);
  return b;
}
GgufBuilder tiny_gemma2_gguf() {
  return tiny_gguf("gemma2").set_u32("gemma2.attention.sliding_window", 16);
}
// A metadata array of booleans.
std::string booleans(std::initializer_list<int> values) {
  ByteWriter writer;
  writer.number(static_cast<uint32_t>(GgufType::kBool));
  writer.number<uint64_t>(values.size());
  for (const int value : values) writer.number(static_cast<uint8_t>(value));
  return writer.take();
}
constexpr auto kArray = static_cast<uint32_t>(GgufType::kArray);
using enum LayerKind;

TEST(GgufConfig, Qwen2FieldsAreRead) {
  const auto config = configure(tiny_gguf("qwen2"));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->family, "qwen2");
  EXPECT_TRUE(config->qkv_bias);
  EXPECT_FALSE(config->attention_output_bias);
  EXPECT_FALSE(config->qk_norm);
  EXPECT_FALSE(config->rotary_interleaved);
  EXPECT_EQ(config->layer_kinds, std::vector<LayerKind>(2, kFull));
}

TEST(GgufConfig, Qwen3FieldsAreRead) {
  const auto config = configure(tiny_gguf("qwen3")
                                    .set_u32("qwen3.attention.key_length", 6)
                                    .set_u32("qwen3.attention.value_length", 6));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->family, "qwen3");
  EXPECT_TRUE(config->qk_norm);
  EXPECT_FALSE(config->qkv_bias);
  EXPECT_EQ(config->head_size, 6);
}

TEST(GgufConfig, Gemma2FieldsAreReadAndItsCapsAreThereUnsaid) {
  const auto config = configure(tiny_gemma2_gguf());
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->family, "gemma2");
  EXPECT_EQ(config->activation, HiddenActivation::kGeluTanh);
  EXPECT_EQ(config->layer_kinds, (std::vector<LayerKind>{kSliding, kFull}));
  EXPECT_EQ(config->attention_soft_cap, 50.0);
  EXPECT_EQ(config->final_soft_cap, 30.0);
  EXPECT_EQ(config->rope_local.theta, 1000000.0);
  const auto said = configure(tiny_gemma2_gguf()
                                  .set_f32("gemma2.attn_logit_softcapping", 20.0f)
                                  .set_f32("gemma2.final_logit_softcapping", 0.0f));
  EXPECT_EQ(said->attention_soft_cap, 20.0);
  EXPECT_EQ(said->final_soft_cap, 0.0);
}

TEST(GgufConfig, ScaleOfTheScoresIsTheFilesElseTheHeadsElseTheLargestModels) {
  EXPECT_EQ(configure(tiny_gemma2_gguf())->query_scale_size, 4.0);
  EXPECT_EQ(
      configure(tiny_gemma2_gguf().set_f32("gemma2.attention.scale", 0.125f))->query_scale_size,
      64.0);
  // 27B of Gemma 2 has 46 layers, that of Gemma 3 has 62.
  EXPECT_EQ(configure(tiny_gemma2_gguf()
                          .set_u32("gemma2.block_count", 46)
                          .set_u32("gemma2.attention.key_length", 6)
                          .set_u32("gemma2.attention.value_length", 6))
                ->query_scale_size,
            4.0);
  EXPECT_EQ(configure(tiny_gemma3_gguf().set_u32("gemma3.block_count", 62))->query_scale_size, 4.0);
  for (const float bad : {0.0f, -1.0f, 1e9f, __builtin_nanf("")}) {
    refuse(tiny_gemma2_gguf().set_f32("gemma2.attention.scale", bad), "attention.scale is");
  }
}

TEST(GgufConfig, WindowOfALlamaFileIsOnEveryLayer) {
  const auto config = configure(tiny_llama_gguf().set_u32("llama.attention.sliding_window", 5));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->sliding_window, 5);
  EXPECT_EQ(config->layer_kinds, std::vector<LayerKind>(2, kSliding));
  EXPECT_TRUE(config->rotary_interleaved);
  refuse(tiny_llama_gguf().set_u32("llama.attention.sliding_window", 0), "sliding_window is 0");
}

TEST(GgufConfig, PatternIsANumberOrABooleanALayer) {
  constexpr std::string_view kKey = "gemma2.attention.sliding_window_pattern";
  const auto kinds = [](const GgufBuilder& file) { return configure(file)->layer_kinds; };
  EXPECT_EQ(kinds(tiny_gemma2_gguf().set_u32(kKey, 1)), std::vector<LayerKind>(2, kFull));
  EXPECT_EQ(kinds(tiny_gemma2_gguf().set_u32(kKey, 0)), std::vector<LayerKind>(2, kSliding));
  EXPECT_EQ(kinds(tiny_gemma2_gguf().set_raw(kKey, kArray, booleans({0, 1}))),
            (std::vector<LayerKind>{kFull, kSliding}));
  refuse(tiny_gemma2_gguf().set_raw(kKey, kArray, booleans({1})), "has 1 entries for 2 layers");
  refuse(tiny_gemma2_gguf().set_i32s(kKey, {0, 1}), "expected booleans");
  refuse(tiny_gemma2_gguf().set_u32(kKey, 1025), "sliding_window_pattern is 1025");
  refuse(tiny_gemma2_gguf().set_string(kKey, "all"), "sliding_window_pattern is 'all'");
}

TEST(GgufConfig, WindowOfAQwenFileMustSayItsLayers) {
  const GgufBuilder window = tiny_gguf("qwen2").set_u32("qwen2.attention.sliding_window", 5);
  refuse(window, "qwen2.attention.sliding_window without qwen2.attention.sliding_window_pattern");
  GgufBuilder said = window;
  said.set_raw("qwen2.attention.sliding_window_pattern", kArray, booleans({0, 1}));
  EXPECT_EQ(configure(said)->layer_kinds, (std::vector<LayerKind>{kFull, kSliding}));
}

GgufBuilder yarn_gguf() {
  return tiny_llama_gguf()
      .set_string("llama.rope.scaling.type", "yarn")
      .set_f32("llama.rope.scaling.factor", 4.0f)
      .set_u32("llama.rope.scaling.original_context_length", 16);
}
RopeYarn yarn_of(const GgufBuilder& file) {
  const auto config = configure(file);
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? std::get<RopeYarn>(config->rope.scaling) : RopeYarn();
}

TEST(GgufConfig, YarnIsRead) {
  const RopeYarn yarn = yarn_of(yarn_gguf());
  EXPECT_EQ(yarn.factor, 4.0);
  EXPECT_EQ(yarn.beta_fast, 32.0);
  EXPECT_EQ(yarn.beta_slow, 1.0);
  EXPECT_EQ(yarn.original_max_positions, 16);
  EXPECT_NEAR(yarn.attention_factor, 1 + 0.1 * std::log(4.0), 1e-12);
  const RopeYarn own = yarn_of(yarn_gguf()
                                   .remove("llama.rope.scaling.original_context_length")
                                   .set_f32("llama.rope.scaling.yarn_beta_fast", 8.0f)
                                   .set_f32("llama.rope.scaling.yarn_beta_slow", 2.0f)
                                   .set_f32("llama.rope.scaling.attn_factor", 0.5f)
                                   .set_f32("llama.rope.scaling.yarn_log_multiplier", 1.0f));
  EXPECT_EQ(own.original_max_positions, 64);
  EXPECT_EQ(own.beta_fast, 8.0);
  EXPECT_EQ(own.beta_slow, 2.0);
  EXPECT_NEAR(own.attention_factor, 0.5, 1e-12);
}

TEST(GgufConfig, BadYarnIsRefusedByName) {
  refuse(yarn_gguf().remove("llama.rope.scaling.factor"), "llama.rope.scaling.factor is missing");
  for (const char* key : {"factor", "yarn_beta_fast", "yarn_beta_slow", "attn_factor"}) {
    const std::string full = fmt::format("llama.rope.scaling.{}", key);
    for (const float bad : {0.0f, -1.0f, __builtin_inff(), __builtin_nanf("")}) {
      refuse(yarn_gguf().set_f32(full, bad), full + " is");
    }
  }
  refuse(yarn_gguf().set_f32("llama.rope.scaling.yarn_ext_factor", 0.5f),
         "llama.rope.scaling.yarn_ext_factor 0.5 is not supported");
  refuse(yarn_gguf().set_f32("llama.rope.scaling.yarn_log_multiplier", -1.0f),
         "llama.rope.scaling.yarn_log_multiplier is -1");
  refuse(yarn_gguf().set_f32("llama.rope.scaling.yarn_beta_fast", 0.5f), "beta_slow 1 is above");
  refuse(yarn_gguf().set_f32("llama.rope.freq_base", 1.0f), "rope base 1 with yarn scaling");
  GgufBuilder divisors = yarn_gguf();
  divisors.add_tensor(
      {.name = "rope_freqs.weight", .dims = {2}, .data = floats({1.0f, 8.0f}), .offset = {}});
  refuse(divisors, "yarn rope scaling together with rope_freqs.weight");
}

TEST(GgufConfig, FactorWithoutATypeIsLinear) {
  const auto config = configure(tiny_llama_gguf().set_f32("llama.rope.scaling.factor", 2.0f));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(std::get<RopeLinear>(config->rope.scaling).factor, 2.0);
}

TEST(GgufConfig, RopeKeysThatWouldBeLostAreRefused) {
  refuse(tiny_llama_gguf().set_f32("llama.rope.scale_linear", 2.0f), "llama.rope.scale_linear");
  refuse(tiny_llama_gguf().set_f32("llama.rope.scaling.attn_factor", 2.0f),
         "llama.rope.scaling.attn_factor 2 is not supported with rope scaling none");
}

TEST(GgufConfig, HeadOfItsOwnIsUntied) {
  GgufBuilder builder = tiny_llama_gguf();
  builder.add_tensor({.name = "output.weight", .dims = {8, 6}, .data = {}, .offset = {}});
  EXPECT_FALSE(configure(builder)->tied_embeddings);
}

TEST(GgufConfig, EveryStopIdIsRead) {
  GgufBuilder builder = tiny_llama_gguf().set_u32("tokenizer.ggml.eot_token_id", 3);
  EXPECT_EQ(configure(builder)->eos_ids, (std::vector<int64_t>{0, 3}));
}

TEST(GgufConfig, RopeFactorsComeFromTheirTensor) {
  GgufBuilder builder = tiny_llama_gguf();
  builder.add_tensor(
      {.name = "rope_freqs.weight", .dims = {2}, .data = floats({1.0f, 8.0f}), .offset = {}});
  const auto config = configure(builder);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(std::get<RopeFactors>(config->rope.scaling).divisors, (std::vector<float>{1.0f, 8.0f}));
}

TEST(GgufConfig, BadRopeFactorsAreRefused) {
  for (const float bad : {0.0f, -1.0f, __builtin_inff(), __builtin_nanf("")}) {
    GgufBuilder builder = tiny_llama_gguf();
    builder.add_tensor(
        {.name = "rope_freqs.weight", .dims = {2}, .data = floats({1.0f, bad}), .offset = {}});
    refuse(builder, "rope_freqs.weight holds");
  }
  GgufBuilder long_one = tiny_llama_gguf();
  long_one.add_tensor({.name = "rope_freqs.weight", .dims = {3}, .data = {}, .offset = {}});
  refuse(long_one, "expected F32 [2]");
}

TEST(GgufConfig, UnsupportedArchitectureIsRefusedByName) {
  refuse(tiny_llama_gguf().set_string("general.architecture", "mamba"),
         "general.architecture 'mamba' is not supported; supported: llama, qwen2, qwen3, gemma2, "
         "gemma3");
  refuse(tiny_llama_gguf().remove("general.architecture"), "general.architecture is missing");
}

TEST(GgufConfig, UnsupportedRopeTypeIsRefusedByName) {
  refuse(tiny_llama_gguf().set_string("llama.rope.scaling.type", "longrope"),
         "llama.rope.scaling.type 'longrope' is not supported; supported: none, linear, yarn");
}

TEST(GgufConfig, ExpertsAndSplitFilesAreRefused) {
  refuse(tiny_llama_gguf().set_u32("llama.expert_count", 8), "llama.expert_count is 8");
  refuse(tiny_llama_gguf().set_u32("split.count", 3), "split into 3 files");
}

TEST(GgufConfig, EverySizeIsRequired) {
  for (const char* key :
       {"block_count", "context_length", "embedding_length", "feed_forward_length",
        "attention.head_count", "attention.layer_norm_rms_epsilon"}) {
    const std::string full = std::string("llama.") + key;
    refuse(tiny_llama_gguf().remove(full), full + " is missing");
  }
}

TEST(GgufConfig, ZeroHugeAndNegativeSizesAreRefused) {
  for (const char* architecture : {"llama", "qwen2", "qwen3", "gemma2"}) {
    for (const char* key :
         {"block_count", "context_length", "embedding_length", "feed_forward_length",
          "attention.head_count", "attention.head_count_kv"}) {
      const std::string full = fmt::format("{}.{}", architecture, key);
      const GgufBuilder good = tiny_gguf(architecture);
      refuse(GgufBuilder(good).set_u32(full, 0), full + " is 0");
      refuse(GgufBuilder(good).set_i32(full, -1), full + " is -1");
      refuse(GgufBuilder(good).set_u64(full, UINT64_MAX), full + " is 18446744073709551615");
      refuse(GgufBuilder(good).set_string(full, "4"), full + " is '4'");
    }
  }
}

TEST(GgufConfig, MillionBlocksAreRefused) {
  refuse(tiny_llama_gguf().set_u32("llama.block_count", 1000000), "llama.block_count is 1000000");
}

TEST(GgufConfig, HeadsThatDoNotDivideAreRefused) {
  refuse(tiny_llama_gguf().set_u32("llama.attention.head_count_kv", 3),
         "2 attention heads are not a multiple of 3 key/value heads");
  refuse(tiny_llama_gguf().set_u32("llama.attention.head_count", 3), "is not a multiple of");
}

TEST(GgufConfig, OddHeadAndRotarySizesAreRefused) {
  refuse(tiny_llama_gguf().set_u32("llama.attention.key_length", 5), "supported");
  refuse(tiny_llama_gguf()
             .set_u32("llama.attention.key_length", 5)
             .set_u32("llama.attention.value_length", 5),
         "head size 5 is odd");
  refuse(tiny_llama_gguf().set_u32("llama.rope.dimension_count", 3), "rotary size 3 is odd");
  refuse(tiny_llama_gguf().set_u32("llama.rope.dimension_count", 6), "dimension_count is 6");
}

TEST(GgufConfig, VocabularyThatDiffersFromTheTableIsRefused) {
  refuse(tiny_llama_gguf().set_u32("llama.vocab_size", 7),
         "llama.vocab_size is 7 but token_embd.weight has 6 rows");
  GgufBuilder head = tiny_llama_gguf();
  head.add_tensor({.name = "output.weight", .dims = {8, 7}, .data = {}, .offset = {}});
  refuse(head, "output.weight has shape [7, 8] but token_embd.weight has 6 rows");
  refuse(tiny_llama_gguf().remove_tensor("token_embd.weight"), "token_embd.weight is missing");
}

TEST(GgufConfig, RopeBaseAndEpsilonMustBeNumbersInRange) {
  for (const float bad : {0.0f, -1.0f, __builtin_inff(), __builtin_nanf("")}) {
    refuse(tiny_llama_gguf().set_f32("llama.rope.freq_base", bad), "llama.rope.freq_base is");
  }
  for (const float bad : {-1.0f, 2.0f, __builtin_nanf("")}) {
    refuse(tiny_llama_gguf().set_f32("llama.attention.layer_norm_rms_epsilon", bad), "epsilon is");
  }
}

TEST(GgufConfig, GemmaNeedsItsWindow) {
  refuse(tiny_gguf("gemma2"), "gemma2.attention.sliding_window is missing");
  refuse(tiny_gemma3_gguf().remove("gemma3.attention.sliding_window"), "is missing");
  refuse(tiny_gemma3_gguf().set_u32("gemma3.attention.sliding_window", 0), "sliding_window is 0");
}

}  // namespace
}  // namespace lockstep::formats
