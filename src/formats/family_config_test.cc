// The families' own fields: published configs of each (less what equals the class's value when
// absent), and what absent, null and contradicting values mean.
#include "formats/testing/config_fields.h"

namespace lockstep::formats {
namespace {

// Mistral 7B v0.1.
const ConfigFields kMistral = {{"model_type", "\"mistral\""},
                               {"bos_token_id", "1"},
                               {"eos_token_id", "2"},
                               {"hidden_act", "\"silu\""},
                               {"hidden_size", "4096"},
                               {"intermediate_size", "14336"},
                               {"max_position_embeddings", "32768"},
                               {"num_attention_heads", "32"},
                               {"num_hidden_layers", "32"},
                               {"num_key_value_heads", "8"},
                               {"rms_norm_eps", "1e-05"},
                               {"rope_theta", "10000.0"},
                               {"sliding_window", "4096"},
                               {"tie_word_embeddings", "false"},
                               {"vocab_size", "32000"}};

// Qwen 2.5 0.5B Instruct.
const ConfigFields kQwen2 = {{"model_type", "\"qwen2\""},
                             {"hidden_act", "\"silu\""},
                             {"hidden_size", "896"},
                             {"intermediate_size", "4864"},
                             {"max_position_embeddings", "32768"},
                             {"max_window_layers", "21"},
                             {"num_attention_heads", "14"},
                             {"num_hidden_layers", "24"},
                             {"num_key_value_heads", "2"},
                             {"rms_norm_eps", "1e-06"},
                             {"rope_theta", "1000000.0"},
                             {"sliding_window", "32768"},
                             {"tie_word_embeddings", "true"},
                             {"use_sliding_window", "false"},
                             {"vocab_size", "151936"}};

// Qwen 3 0.6B.
const ConfigFields kQwen3 = {{"model_type", "\"qwen3\""},
                             {"attention_bias", "false"},
                             {"head_dim", "128"},
                             {"hidden_act", "\"silu\""},
                             {"hidden_size", "1024"},
                             {"intermediate_size", "3072"},
                             {"max_position_embeddings", "40960"},
                             {"max_window_layers", "28"},
                             {"num_attention_heads", "16"},
                             {"num_hidden_layers", "28"},
                             {"num_key_value_heads", "8"},
                             {"rope_scaling", "null"},
                             {"rope_theta", "1000000"},
                             {"sliding_window", "null"},
                             {"tie_word_embeddings", "true"},
                             {"use_sliding_window", "false"},
                             {"vocab_size", "151936"}};

// Gemma 2 2B.
const ConfigFields kGemma2 = {{"model_type", "\"gemma2\""},
                              {"attn_logit_softcapping", "50.0"},
                              {"bos_token_id", "2"},
                              {"eos_token_id", "1"},
                              {"final_logit_softcapping", "30.0"},
                              {"head_dim", "256"},
                              {"hidden_act", "\"gelu_pytorch_tanh\""},
                              {"hidden_activation", "\"gelu_pytorch_tanh\""},
                              {"hidden_size", "2304"},
                              {"intermediate_size", "9216"},
                              {"max_position_embeddings", "8192"},
                              {"num_attention_heads", "8"},
                              {"num_hidden_layers", "26"},
                              {"num_key_value_heads", "4"},
                              {"query_pre_attn_scalar", "256"},
                              {"sliding_window", "4096"},
                              {"vocab_size", "256000"}};

std::vector<LayerKind> alternating(size_t layers) {
  std::vector<LayerKind> kinds(layers, LayerKind::kFull);
  for (size_t i = 0; i < layers; i += 2) kinds[i] = LayerKind::kSliding;
  return kinds;
}

TEST(MistralConfig, EveryLayerHasTheWindow) {
  const ModelConfig c = parsed(kMistral);
  EXPECT_EQ(c.family, "mistral");
  EXPECT_EQ(c.head_size, 128);
  EXPECT_EQ(c.sliding_window, 4096);
  EXPECT_EQ(c.layer_kinds, std::vector<LayerKind>(32, LayerKind::kSliding));
  EXPECT_FALSE(c.qkv_bias);
  EXPECT_FALSE(c.qk_norm);
  EXPECT_FALSE(c.tied_embeddings);
}

TEST(MistralConfig, NullWindowMeansNoneAndAnAbsentOneTheClasses) {
  const ModelConfig none = parsed(kMistral.with("sliding_window", "null"));
  EXPECT_EQ(none.layer_kinds, std::vector<LayerKind>(32, LayerKind::kFull));
  EXPECT_EQ(none.sliding_window, 0);
  EXPECT_EQ(parsed(kMistral.without("sliding_window")).sliding_window, 4096);
}

TEST(MistralConfig, AbsentKeyValueHeadsAreEightAndNullOnesAreTheHeads) {
  EXPECT_EQ(parsed(kMistral.without("num_key_value_heads")).kv_heads, 8);
  EXPECT_EQ(parsed(kMistral.with("num_key_value_heads", "null")).kv_heads, 32);
}

TEST(MistralConfig, LayerTypesMustAgreeWithTheWindow) {
  const ConfigFields one = kMistral.with("num_hidden_layers", "1");
  EXPECT_EQ(canonical_json(parsed(one.with("layer_types", R"(["sliding_attention"])"))),
            canonical_json(parsed(one)));
  refuse(one.with("layer_types", R"(["full_attention"])"),
         "layer_types[0] 'full_attention' with sliding_window 4096 is not supported");
}

TEST(MistralConfig, AttentionBiasIsNoFieldOfIt) {
  EXPECT_FALSE(parsed(kMistral.with("attention_bias", "true")).qkv_bias);
}

TEST(Qwen2Config, BiasesAreOnQueriesKeysAndValues) {
  const ModelConfig c = parsed(kQwen2);
  EXPECT_EQ(c.family, "qwen2");
  EXPECT_TRUE(c.qkv_bias);
  EXPECT_FALSE(c.attention_output_bias);
  EXPECT_FALSE(c.mlp_bias);
  EXPECT_FALSE(c.qk_norm);
  EXPECT_TRUE(c.tied_embeddings);
  EXPECT_EQ(c.head_size, 64);
  EXPECT_FALSE(parsed(kQwen2.without("tie_word_embeddings")).tied_embeddings);
}

TEST(Qwen2Config, WindowIsInUseOnlyWhereTheFileSaysSo) {
  const ModelConfig unused = parsed(kQwen2);
  EXPECT_EQ(unused.sliding_window, 0);
  EXPECT_EQ(unused.layer_kinds, std::vector<LayerKind>(24, LayerKind::kFull));

  const ModelConfig used = parsed(kQwen2.with("use_sliding_window", "true"));
  EXPECT_EQ(used.sliding_window, 32768);
  for (size_t i = 0; i < 24; ++i) {
    EXPECT_EQ(used.layer_kinds[i], i < 21 ? LayerKind::kFull : LayerKind::kSliding) << i;
  }
  EXPECT_EQ(
      parsed(kQwen2.with("use_sliding_window", "true").with("sliding_window", "null")).layer_kinds,
      std::vector<LayerKind>(24, LayerKind::kFull));
}

TEST(Qwen2Config, LayerTypesChooseTheLayersButNeedAWindow) {
  const ConfigFields two = kQwen2.with("num_hidden_layers", "2")
                               .with("layer_types", R"(["sliding_attention","full_attention"])");
  EXPECT_EQ(parsed(two.with("use_sliding_window", "true")).layer_kinds, alternating(2));
  refuse(two, "layer_types[0] is 'sliding_attention' but no sliding_window is in use");
}

TEST(Qwen2Config, AbsentKeyValueHeadsAreThirtyTwo) {
  refuse(kQwen2.without("num_key_value_heads"),
         "14 attention heads are not a multiple of 32 key/value heads");
  EXPECT_EQ(parsed(kQwen2.with("num_key_value_heads", "null")).kv_heads, 14);
}

TEST(Qwen2Config, BadWindowFieldsAreRefused) {
  refuse(kQwen2.with("sliding_window", "0"), "sliding_window is 0");
  refuse(kQwen2.with("sliding_window", "\"all\""), "sliding_window is 'all'");
  refuse(kQwen2.with("max_window_layers", "-1"), "max_window_layers is -1");
  refuse(kQwen2.with("use_sliding_window", "1"), "use_sliding_window is 1");
}

TEST(Qwen3Config, HeadsOfQueriesAndKeysAreNormed) {
  const ModelConfig c = parsed(kQwen3);
  EXPECT_EQ(c.family, "qwen3");
  EXPECT_TRUE(c.qk_norm);
  EXPECT_FALSE(c.qkv_bias);
  EXPECT_EQ(c.head_size, 128);
  EXPECT_EQ(c.query_scale_size, 128.0);
  EXPECT_EQ(parsed(kQwen3.without("head_dim")).head_size, 128);
}

TEST(Qwen3Config, AttentionBiasIsOnEveryMatrixOfAttention) {
  const ModelConfig c = parsed(kQwen3.with("attention_bias", "true"));
  EXPECT_TRUE(c.qkv_bias);
  EXPECT_TRUE(c.attention_output_bias);
  EXPECT_FALSE(c.mlp_bias);
}

TEST(Gemma2Config, LayersAlternateAndScoresAreCapped) {
  const ModelConfig c = parsed(kGemma2);
  EXPECT_EQ(c.family, "gemma2");
  EXPECT_EQ(c.layer_kinds, alternating(26));
  EXPECT_EQ(c.sliding_window, 4096);
  EXPECT_EQ(c.attention_soft_cap, 50.0);
  EXPECT_EQ(c.final_soft_cap, 30.0);
  EXPECT_EQ(c.query_scale_size, 256.0);
  EXPECT_EQ(c.activation, HiddenActivation::kGeluTanh);
  EXPECT_TRUE(c.tied_embeddings);
  EXPECT_FALSE(c.qk_norm);
  EXPECT_EQ(c.rope_local.theta, c.rope.theta);
}

TEST(Gemma2Config, NullCapMeansNoneAndAnAbsentOneTheClasses) {
  const ModelConfig absent =
      parsed(kGemma2.without("attn_logit_softcapping").without("final_logit_softcapping"));
  EXPECT_EQ(absent.attention_soft_cap, 50.0);
  EXPECT_EQ(absent.final_soft_cap, 30.0);
  const ModelConfig none = parsed(
      kGemma2.with("attn_logit_softcapping", "null").with("final_logit_softcapping", "null"));
  EXPECT_EQ(none.attention_soft_cap, 0.0);
  EXPECT_EQ(none.final_soft_cap, 0.0);
}

TEST(Gemma2Config, OwnScaleOfTheScoresIsRead) {
  EXPECT_EQ(parsed(kGemma2.with("query_pre_attn_scalar", "144")).query_scale_size, 144.0);
  refuse(kGemma2.with("query_pre_attn_scalar", "-1"), "query_pre_attn_scalar is -1");
  refuse(kGemma2.with("attn_logit_softcapping", "0"), "attn_logit_softcapping is 0");
}

TEST(Gemma2Config, WindowIsNeededWhereLayersSlide) {
  refuse(kGemma2.with("sliding_window", "null"), "sliding window 0 is outside [1, ");
}

TEST(FamilyConfigs, WrongTypesZeroNegativeAndHugeSizesAreRefused) {
  for (const ConfigFields& fields : {kMistral, kQwen2, kQwen3, kGemma2}) {
    for (const char* key :
         {"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
          "num_key_value_heads", "head_dim", "intermediate_size", "max_position_embeddings"}) {
      for (const char* value : {"\"64\"", "64.5", "true", "[64]", "{}", "0", "-1", "2147483648",
                                "18446744073709551615", "1e30"}) {
        refuse(fields.with(key, value), std::string(key) + " is ");
      }
    }
    refuse(fields.with("num_hidden_layers", "1000000"), "num_hidden_layers is 1000000");
    refuse(fields.with("num_key_value_heads", "7").with("num_attention_heads", "16"),
           "16 attention heads are not a multiple of 7 key/value heads");
  }
}

TEST(FamilyConfigs, EveryCutIsRefusedAndEveryFlipSurvived) {
  for (const ConfigFields& fields : {kMistral, kQwen2, kQwen3, kGemma2}) {
    const std::string good = fields.json();
    survive_cuts_and_flips(good, good.size(),
                           [](const std::string& input) { return parse_config_json(input); });
  }
}

}  // namespace
}  // namespace lockstep::formats
