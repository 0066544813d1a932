#include "formats/rope_json.h"

#include <cmath>

#include "formats/testing/config_fields.h"

namespace lockstep::formats {
namespace {

// Gemma 3 1B, whose layers with a window have a base of their own.
const ConfigFields kGemma3 = {{"model_type", "\"gemma3_text\""}, {"hidden_size", "1152"},
                              {"intermediate_size", "6912"},     {"num_attention_heads", "4"},
                              {"num_hidden_layers", "26"},       {"num_key_value_heads", "1"}};

// Qwen 3 as its card says to stretch it.
const ConfigFields kQwen3 = {{"model_type", "\"qwen3\""},   {"hidden_size", "1024"},
                             {"intermediate_size", "3072"}, {"max_position_embeddings", "131072"},
                             {"num_attention_heads", "16"}, {"num_hidden_layers", "28"},
                             {"num_key_value_heads", "8"},  {"rope_theta", "1000000"},
                             {"vocab_size", "151936"}};
ConfigFields stretched(std::string_view more) {
  return kQwen3.with("rope_scaling", fmt::format(R"({{"rope_type":"yarn","factor":4.0{}}})", more));
}
RopeYarn yarn_of(const ConfigFields& fields) {
  return std::get<RopeYarn>(parsed(fields).rope.scaling);
}

TEST(RopeJson, BothSpellingsOfRopeMeanTheSame) {
  const ConfigFields fresh =
      kLlamaConfig.without("rope_theta")
          .without("rope_scaling")
          .with(
              "rope_parameters",
              R"({"factor":32.0,"high_freq_factor":4.0,"low_freq_factor":1.0,"rope_theta":500000.0,
                    "original_max_position_embeddings":8192,"rope_type":"llama3"})");
  const ConfigFields old_type = kLlamaConfig.with(
      "rope_scaling", R"({"factor":32.0,"high_freq_factor":4.0,"low_freq_factor":1.0,
                          "original_max_position_embeddings":8192,"type":"llama3"})");
  EXPECT_EQ(canonical_json(parsed(fresh)), canonical_json(parsed(kLlamaConfig)));
  EXPECT_EQ(canonical_json(parsed(old_type)), canonical_json(parsed(kLlamaConfig)));
}

TEST(RopeJson, RopeOfEachLayerTypeIsRead) {
  const ConfigFields fields =
      kGemma3.without("rope_scaling")
          .with("rope_parameters",
                R"({"full_attention":{"rope_type":"linear","factor":8.0,"rope_theta":2000000.0},
          "sliding_attention":{"rope_type":"default","rope_theta":5000.0}})");
  const ModelConfig c = parsed(fields);
  EXPECT_EQ(c.rope.theta, 2000000.0);
  EXPECT_EQ(std::get<RopeLinear>(c.rope.scaling).factor, 8.0);
  EXPECT_EQ(c.rope_local.theta, 5000.0);
  refuse(fields.with("rope_parameters", R"({"full_attention":{"rope_theta":1e6}})"),
         "rope_parameters.sliding_attention is missing");
}

TEST(RopeJson, PartialRotationIsEvenAndInsideTheHead) {
  EXPECT_EQ(parsed(kLlamaConfig.with("partial_rotary_factor", "0.25")).rotary_size, 16);
  for (const char* factor : {"0", "-0.5", "1.5", "0.02", "0.05", "\"half\""}) {
    refuse(kLlamaConfig.with("partial_rotary_factor", factor), "partial_rotary_factor");
  }
}

TEST(RopeJson, RopeScalingWithoutItsNumbersIsRefused) {
  refuse(kLlamaConfig.with("rope_scaling", R"({"rope_type":"linear"})"),
         "rope_scaling.factor is missing");
  refuse(kLlamaConfig.with("rope_scaling", R"({"rope_type":"linear","factor":0.5})"),
         "factor is 0.5");
  refuse(kLlamaConfig.with("rope_scaling", R"({"factor":2.0})"),
         "rope_scaling.rope_type is missing");
  refuse(kLlamaConfig.with("rope_scaling",
                           R"({"factor":8,"high_freq_factor":1,"low_freq_factor":1,
                         "original_max_position_embeddings":8192,"rope_type":"llama3"})"),
         "low_freq_factor 1 is not below high_freq_factor 1");
}

TEST(RopeJson, YarnIsReadWithThePapersValuesWhereAbsent) {
  const ConfigFields fields = stretched(R"(,"original_max_position_embeddings":32768)");
  const RopeYarn yarn = yarn_of(fields);
  EXPECT_EQ(yarn.factor, 4.0);
  EXPECT_EQ(yarn.beta_fast, 32.0);
  EXPECT_EQ(yarn.beta_slow, 1.0);
  EXPECT_EQ(yarn.original_max_positions, 32768);
  EXPECT_NEAR(yarn.attention_factor, 1 + 0.1 * std::log(4.0), 1e-12);
  EXPECT_TRUE(yarn.truncate);
  // Layers that slide turn as the others do.
  EXPECT_EQ(std::get<RopeYarn>(parsed(fields).rope_local.scaling).factor, 4.0);
}

TEST(RopeJson, YarnsOwnFieldsAreRead) {
  const RopeYarn yarn = yarn_of(stretched(
      R"(,"beta_fast":16,"beta_slow":2,"attention_factor":1.25,"truncate":false,
          "original_max_position_embeddings":4096)"));
  EXPECT_EQ(yarn.beta_fast, 16.0);
  EXPECT_EQ(yarn.beta_slow, 2.0);
  EXPECT_EQ(yarn.attention_factor, 1.25);
  EXPECT_EQ(yarn.original_max_positions, 4096);
  EXPECT_FALSE(yarn.truncate);
}

TEST(RopeJson, YarnsPairOfScalesGivesTheAttentionFactor) {
  const double expected = (1 + 0.1 * std::log(4.0)) / (1 + 0.05 * std::log(4.0));
  EXPECT_NEAR(yarn_of(stretched(R"(,"mscale":1.0,"mscale_all_dim":0.5)")).attention_factor,
              expected, 1e-12);
  // One of them alone, or 0, says nothing; attention_factor says all.
  const double plain = 1 + 0.1 * std::log(4.0);
  EXPECT_NEAR(yarn_of(stretched(R"(,"mscale":0.7)")).attention_factor, plain, 1e-12);
  EXPECT_NEAR(yarn_of(stretched(R"(,"mscale":0,"mscale_all_dim":1)")).attention_factor, plain,
              1e-12);
  EXPECT_EQ(yarn_of(stretched(R"(,"mscale":1,"mscale_all_dim":2,"attention_factor":3.0)"))
                .attention_factor,
            3.0);
}

TEST(RopeJson, OriginalPositionsAreThoseOutsideTheObjectElseInItElseAll) {
  EXPECT_EQ(yarn_of(stretched("")).original_max_positions, 131072);
  const ConfigFields inside = stretched(R"(,"original_max_position_embeddings":8192)");
  EXPECT_EQ(yarn_of(inside.with("original_max_position_embeddings", "4096")).original_max_positions,
            4096);
}

TEST(RopeJson, NullFactorOfYarnIsTheGrowthOfThePositions) {
  const std::string_view null_factor =
      R"({"rope_type":"yarn","factor":null,"original_max_position_embeddings":32768})";
  EXPECT_EQ(yarn_of(kQwen3.with("rope_scaling", null_factor)).factor, 4.0);
  refuse(kQwen3.with("rope_scaling", null_factor).with("max_position_embeddings", "1000"),
         "rope_scaling.factor is null and the positions grow 0.03");
}

TEST(RopeJson, BadYarnIsRefusedByName) {
  refuse(kQwen3.with("rope_scaling", R"({"rope_type":"yarn"})"), "rope_scaling.factor is missing");
  refuse(kQwen3.with("rope_scaling", R"({"rope_type":"yarn","factor":0.5})"), "factor is 0.5");
  refuse(kQwen3.with("rope_scaling", R"({"rope_type":"yarn","factor":1e9})"),
         "factor is 1000000000");
  for (const char* field : {"beta_fast", "beta_slow", "attention_factor"}) {
    for (const char* value : {"0", "-1", "1e300", "\"x\"", "[1]", "true"}) {
      refuse(stretched(fmt::format(",\"{}\":{}", field, value)),
             fmt::format("rope_scaling.{} is ", field));
    }
  }
  refuse(stretched(R"(,"mscale":-1)"), "rope_scaling.mscale is -1");
  refuse(stretched(R"(,"mscale_all_dim":"1")"), "rope_scaling.mscale_all_dim is '1'");
  refuse(stretched(R"(,"truncate":1)"), "rope_scaling.truncate is 1");
  refuse(stretched(R"(,"original_max_position_embeddings":0)"),
         "original_max_position_embeddings is 0");
  refuse(stretched(R"(,"original_max_position_embeddings":32768.5)"),
         "original_max_position_embeddings is 32768.5");
  refuse(stretched(R"(,"beta_fast":1,"beta_slow":2)"), "beta_slow 2 is above its beta_fast 1");
  refuse(stretched("").with("rope_theta", "1"), "rope base 1 with yarn scaling");
}

TEST(RopeJson, OtherTypesAreRefusedByName) {
  refuse(kLlamaConfig.with("rope_scaling", R"({"rope_type":"longrope","factor":4.0})"),
         "rope_scaling.rope_type 'longrope' is not supported; supported: default, linear, llama3");
  refuse(kLlamaConfig.with("rope_scaling", R"({"type":"dynamic","factor":4.0})"),
         "rope_scaling.type 'dynamic' is not supported");
  refuse(kLlamaConfig.with("rope_scaling", R"({"rope_type":7})"), "rope_scaling.rope_type is 7");
}

TEST(RopeJson, OneRuleALayerTypeIsForFamiliesThatHaveTwo) {
  refuse(kQwen3.with("rope_parameters", R"({"full_attention":{"rope_theta":1e6}})"),
         "rope_parameters by layer type is not supported");
}

}  // namespace
}  // namespace lockstep::formats
