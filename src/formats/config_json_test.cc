#include "formats/config_json.h"

#include "formats/testing/config_fields.h"

namespace lockstep::formats {
namespace {

// Gemma 3 1B, as published but for what equals its class's value when absent.
const ConfigFields kGemma3 = {{"model_type", "\"gemma3_text\""},
                              {"attn_logit_softcapping", "null"},
                              {"eos_token_id", "[1,106]"},
                              {"final_logit_softcapping", "null"},
                              {"hidden_activation", "\"gelu_pytorch_tanh\""},
                              {"hidden_size", "1152"},
                              {"intermediate_size", "6912"},
                              {"max_position_embeddings", "32768"},
                              {"num_attention_heads", "4"},
                              {"num_hidden_layers", "26"},
                              {"num_key_value_heads", "1"},
                              {"rope_scaling", "null"},
                              {"sliding_window", "512"},
                              {"vocab_size", "262144"}};

TEST(ConfigJson, LlamaFieldsAreRead) {
  const ModelConfig c = parsed(kLlamaConfig);
  EXPECT_EQ(c.family, "llama");
  EXPECT_EQ(c.layout, WeightLayout::kHuggingFace);
  EXPECT_EQ(c.vocab_size, 128256);
  EXPECT_EQ(c.hidden_size, 2048);
  EXPECT_EQ(c.layers, 16);
  EXPECT_EQ(c.heads, 32);
  EXPECT_EQ(c.kv_heads, 8);
  EXPECT_EQ(c.head_size, 64);
  EXPECT_EQ(c.rotary_size, 64);
  EXPECT_EQ(c.query_scale_size, 64.0);
  EXPECT_EQ(c.intermediate_size, 8192);
  EXPECT_EQ(c.max_positions, 131072);
  EXPECT_EQ(c.rms_eps, 1e-5);
  EXPECT_EQ(c.activation, HiddenActivation::kSilu);
  EXPECT_TRUE(c.tied_embeddings);
  EXPECT_EQ(c.rope.theta, 500000.0);
  const auto& rope = std::get<RopeLlama3>(c.rope.scaling);
  EXPECT_EQ(rope.factor, 32.0);
  EXPECT_EQ(rope.low_freq_factor, 1.0);
  EXPECT_EQ(rope.high_freq_factor, 4.0);
  EXPECT_EQ(rope.original_max_positions, 8192);
  EXPECT_EQ(c.layer_kinds, std::vector<LayerKind>(16, LayerKind::kFull));
  EXPECT_EQ(c.bos_id, 128000);
  EXPECT_EQ(c.eos_ids, (std::vector<int64_t>{128001, 128008, 128009}));
}

TEST(ConfigJson, AbsentAndNullLlamaFieldsTakeTheirClassesValues) {
  const ConfigFields bare = kLlamaConfig.without("head_dim")
                                .with("num_key_value_heads", "null")
                                .without("rms_norm_eps")
                                .with("rope_scaling", "null")
                                .without("rope_theta")
                                .without("tie_word_embeddings")
                                .without("max_position_embeddings")
                                .without("eos_token_id")
                                .without("bos_token_id");
  const ModelConfig c = parsed(bare);
  EXPECT_EQ(c.head_size, 64);
  EXPECT_EQ(c.kv_heads, 32);
  EXPECT_EQ(c.rms_eps, 1e-6);
  EXPECT_EQ(c.rope.theta, 10000.0);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(c.rope.scaling));
  EXPECT_FALSE(c.tied_embeddings);
  EXPECT_EQ(c.max_positions, 2048);
  EXPECT_TRUE(c.eos_ids.empty());
  EXPECT_EQ(c.bos_id, -1);
}

TEST(ConfigJson, AbsentGemma3FieldsTakeTheirClassesValues) {
  const ModelConfig c = parsed(kGemma3);
  EXPECT_EQ(c.family, "gemma3");
  EXPECT_EQ(c.head_size, 256);
  EXPECT_EQ(c.query_scale_size, 256.0);
  EXPECT_EQ(c.activation, HiddenActivation::kGeluTanh);
  EXPECT_TRUE(c.tied_embeddings);
  EXPECT_EQ(c.rope.theta, 1000000.0);
  EXPECT_EQ(c.rope_local.theta, 10000.0);
  EXPECT_EQ(c.attention_soft_cap, 0.0);
  EXPECT_EQ(c.final_soft_cap, 0.0);
  EXPECT_EQ(c.sliding_window, 512);
  for (int i = 0; i < 26; ++i) {
    EXPECT_EQ(c.layer_kinds[i], i % 6 == 5 ? LayerKind::kFull : LayerKind::kSliding) << i;
  }
}

TEST(ConfigJson, NestedGemma3ReadsItsTextConfig) {
  // Gemma 3 4B, as published: heads, head size and vocabulary are left to the class.
  const ConfigFields nested = {
      {"model_type", "\"gemma3\""},
      {"eos_token_id", "[1,106]"},
      {"text_config",
       R"({"hidden_size":2560,"intermediate_size":10240,"model_type":"gemma3_text",
           "num_hidden_layers":34,"rope_scaling":{"factor":8.0,"rope_type":"linear"},
           "sliding_window":1024})"},
      {"vision_config", "{}"}};
  const ModelConfig c = parsed(nested);
  EXPECT_EQ(c.family, "gemma3");
  EXPECT_EQ(c.heads, 8);
  EXPECT_EQ(c.kv_heads, 4);
  EXPECT_EQ(c.vocab_size, 262208);
  EXPECT_EQ(c.max_positions, 131072);
  EXPECT_EQ(c.eos_ids, (std::vector<int64_t>{1, 106}));
  EXPECT_EQ(std::get<RopeLinear>(c.rope.scaling).factor, 8.0);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(c.rope_local.scaling));
  refuse(nested.without("text_config"), "text_config is missing");
  refuse(nested.with("text_config", R"({"hidden_size":"x"})"), "text_config.hidden_size is 'x'");
}

TEST(ConfigJson, LayerTypesOverrideThePattern) {
  std::string types = "[\"full_attention\"";
  for (int i = 1; i < 26; ++i) types += ",\"sliding_attention\"";
  const ModelConfig c =
      parsed(kGemma3.with("layer_types", types + "]").with("sliding_window_pattern", "2"));
  EXPECT_EQ(c.layer_kinds[0], LayerKind::kFull);
  EXPECT_EQ(c.layer_kinds[1], LayerKind::kSliding);
  EXPECT_EQ(parsed(kGemma3.with("sliding_window_pattern", "2")).layer_kinds[1], LayerKind::kFull);
  EXPECT_EQ(parsed(kGemma3.with("_sliding_window_pattern", "3")).layer_kinds[2], LayerKind::kFull);
}

TEST(ConfigJson, LayerTypesOfTheWrongLengthOrKindAreRefused) {
  refuse(kGemma3.with("layer_types", R"(["full_attention"])"), "layer_types has 1 entries");
  refuse(kGemma3.with("num_hidden_layers", "1").with("layer_types", R"(["mamba"])"),
         "layer_types[0] 'mamba' is not supported");
  refuse(kGemma3.with("num_hidden_layers", "1").with("layer_types", "[1]"), "layer_types[0] is 1");
  refuse(
      kLlamaConfig.with("num_hidden_layers", "1").with("layer_types", R"(["sliding_attention"])"),
      "not supported for model_type llama");
  refuse(kGemma3.with("sliding_window_pattern", "0"), "sliding_window_pattern is 0");
}

TEST(ConfigJson, SoftCapsAreRead) {
  const ModelConfig c =
      parsed(kGemma3.with("attn_logit_softcapping", "50.0").with("final_logit_softcapping", "30"));
  EXPECT_EQ(c.attention_soft_cap, 50.0);
  EXPECT_EQ(c.final_soft_cap, 30.0);
  refuse(kGemma3.with("final_logit_softcapping", "-30"), "final_logit_softcapping is -30");
}

TEST(ConfigJson, UnsupportedModelTypeIsRefusedWithTheListOfSupportedOnes) {
  refuse(kLlamaConfig.with("model_type", "\"mamba\""),
         "model_type 'mamba' is not supported; supported: llama, mistral, qwen2, qwen3, gemma2, "
         "gemma3_text, gemma3");
  refuse(kLlamaConfig.without("model_type"), "model_type is missing");
  refuse(kLlamaConfig.with("model_type", "7"), "model_type is 7");
}

TEST(ConfigJson, UnsupportedFeaturesAreRefusedByName) {
  refuse(kLlamaConfig.with("hidden_act", "\"relu\""), "hidden_act 'relu' is not supported");
  refuse(kLlamaConfig.with("quantization_config", R"({"quant_method":"gptq"})"),
         "quantization_config");
  refuse(kGemma3.with("use_bidirectional_attention", "true"), "use_bidirectional_attention");
}

TEST(ConfigJson, MissingSizesAreRefused) {
  for (const char* key : {"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
                          "intermediate_size"}) {
    refuse(kLlamaConfig.without(key), std::string(key) + " is missing");
    refuse(kLlamaConfig.with(key, "null"), std::string(key) + " is missing");
  }
  for (const char* key : {"hidden_size", "num_hidden_layers", "intermediate_size"}) {
    refuse(kGemma3.without(key), std::string(key) + " is missing");
  }
}

TEST(ConfigJson, SizesOfTheWrongTypeZeroNegativeOrHugeAreRefused) {
  for (const char* key :
       {"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
        "num_key_value_heads", "head_dim", "intermediate_size", "max_position_embeddings"}) {
    for (const char* value : {"\"64\"", "64.5", "64.0", "true", "[64]", "{}", "0", "-1",
                              "2147483648", "18446744073709551615", "1e30"}) {
      refuse(kLlamaConfig.with(key, value), std::string(key) + " is ");
    }
  }
}

TEST(ConfigJson, OtherFieldsOfTheWrongTypeAreRefused) {
  refuse(kLlamaConfig.with("rms_norm_eps", "\"x\""), "rms_norm_eps is 'x'");
  refuse(kLlamaConfig.with("rms_norm_eps", "-1e-6"), "rms_norm_eps is -1e-06");
  refuse(kLlamaConfig.with("attention_bias", "1"), "attention_bias is 1");
  refuse(kLlamaConfig.with("tie_word_embeddings", "\"yes\""), "tie_word_embeddings is 'yes'");
  refuse(kLlamaConfig.with("rope_theta", "0"), "rope_theta is 0");
  refuse(kLlamaConfig.with("rope_theta", "[1]"), "rope_theta is an array");
  refuse(kLlamaConfig.with("rope_scaling", "8.0"), "rope_scaling is 8");
  refuse(kLlamaConfig.with("bos_token_id", "[1,2]"), "bos_token_id must be one id");
  refuse(kLlamaConfig.with("eos_token_id", "-1"), "eos_token_id is -1");
  refuse(kGemma3.with("query_pre_attn_scalar", "0"), "query_pre_attn_scalar is 0");
  refuse(kGemma3.with("sliding_window", "0"), "sliding_window is 0");
}

TEST(ConfigJson, HeadsThatDoNotDivideAreRefused) {
  refuse(kLlamaConfig.with("num_key_value_heads", "5"),
         "32 attention heads are not a multiple of 5 key/value heads");
  refuse(kLlamaConfig.without("head_dim").with("num_attention_heads", "24"),
         "hidden_size 2048 is not a multiple of num_attention_heads 24");
}

TEST(ConfigJson, OddHeadSizeIsRefused) { refuse(kLlamaConfig.with("head_dim", "63"), "63"); }

TEST(ConfigJson, AnyEvenHeadSizeAndAnyGroupAreTaken) {
  const ModelConfig c = parsed(kLlamaConfig.with("head_dim", "10")
                                   .with("num_attention_heads", "21")
                                   .with("num_key_value_heads", "7")
                                   .with("hidden_size", "33"));
  EXPECT_EQ(c.head_size, 10);
  EXPECT_EQ(c.heads, 21);
}

TEST(ConfigJson, DuplicateKeysAndOtherDocumentsAreRefused) {
  std::string twice = kLlamaConfig.json();
  twice.insert(1, R"("hidden_size":64,)");
  expect_refused(parse_config_json(twice), "key 'hidden_size' occurs twice");
  expect_refused(parse_config_json("[]"), "expected an object");
  expect_refused(parse_config_json(""), "JSON");
  expect_refused(parse_config_json(std::string((1 << 20) + 1, ' ')), "at most 1048576");
}

TEST(ConfigJson, EveryCutIsRefusedAndEveryFlipSurvived) {
  for (const ConfigFields& fields : {kLlamaConfig, kGemma3}) {
    const std::string good = fields.json();
    survive_cuts_and_flips(good, good.size(),
                           [](const std::string& input) { return parse_config_json(input); });
  }
}

TEST(CanonicalJson, EveryFieldThatChangesAnswersIsInIt) {
  const std::string plain = canonical_json(parsed(kGemma3));
  for (const auto& [key, value] : std::initializer_list<std::pair<const char*, const char*>>{
           {"vocab_size", "262145"},
           {"hidden_size", "1153"},
           {"intermediate_size", "6913"},
           {"max_position_embeddings", "32769"},
           {"num_attention_heads", "5"},
           {"num_hidden_layers", "25"},
           {"num_key_value_heads", "2"},
           {"head_dim", "128"},
           {"rms_norm_eps", "1e-5"},
           {"hidden_activation", "\"silu\""},
           {"tie_word_embeddings", "false"},
           {"attention_bias", "true"},
           {"rope_theta", "5000.0"},
           {"rope_local_base_freq", "5000.0"},
           {"rope_scaling", R"({"rope_type":"linear","factor":2})"},
           {"partial_rotary_factor", "0.5"},
           {"sliding_window_pattern", "2"},
           {"sliding_window", "511"},
           {"query_pre_attn_scalar", "128"},
           {"attn_logit_softcapping", "50"},
           {"final_logit_softcapping", "30"},
           {"eos_token_id", "1"},
           {"bos_token_id", "2"},
       }) {
    EXPECT_NE(canonical_json(parsed(kGemma3.with(key, value))), plain) << key;
  }
}

}  // namespace
}  // namespace lockstep::formats
