#include "formats/generation_config.h"

#include <gtest/gtest.h>

#include "formats/testing/refusal.h"

namespace lockstep::formats {
namespace {

TEST(GenerationConfig, FieldsAreRead) {
  const auto defaults = parse_generation_config(
      R"({"do_sample":true,"temperature":0.6,"top_p":0.9,"top_k":64,"eos_token_id":[1,106],
          "bos_token_id":2,"transformers_version":"4.50.0"})");
  ASSERT_TRUE(defaults.ok()) << defaults.status();
  EXPECT_EQ(defaults->temperature, 0.6);
  EXPECT_EQ(defaults->top_p, 0.9);
  EXPECT_EQ(defaults->top_k, 64);
  EXPECT_EQ(defaults->min_p, std::nullopt);
  EXPECT_EQ(defaults->eos_ids, (std::vector<int64_t>{1, 106}));
}

TEST(GenerationConfig, NothingIsAlsoAnAnswer) {
  const auto defaults = parse_generation_config("{}");
  ASSERT_TRUE(defaults.ok());
  EXPECT_EQ(defaults->temperature, std::nullopt);
  EXPECT_TRUE(defaults->eos_ids.empty());
}

TEST(GenerationConfig, GreedyFileSuggestsNoSampling) {
  const auto defaults =
      parse_generation_config(R"({"do_sample":false,"temperature":0.6,"eos_token_id":7})");
  ASSERT_TRUE(defaults.ok());
  EXPECT_EQ(defaults->temperature, std::nullopt);
  EXPECT_EQ(defaults->eos_ids, std::vector<int64_t>{7});
}

TEST(GenerationConfig, BadValuesAreRefused) {
  expect_refused(parse_generation_config(R"({"temperature":-1})"), "temperature -1");
  expect_refused(parse_generation_config(R"({"temperature":1e308})"), "temperature");
  expect_refused(parse_generation_config(R"({"top_p":0})"), "top_p 0");
  expect_refused(parse_generation_config(R"({"top_k":1099511627776})"), "top_k is 1099511627776");
  expect_refused(parse_generation_config(R"({"top_k":1.5})"), "top_k is 1.5");
  expect_refused(parse_generation_config(R"({"temperature":"hot"})"), "temperature is 'hot'");
  expect_refused(parse_generation_config(R"({"do_sample":1})"), "do_sample is 1");
  expect_refused(parse_generation_config("[]"), "expected an object");
}

TEST(GenerationConfig, BadStopIdsAreRefused) {
  for (const char* ids : {"-1", "1.5", "\"7\"", "true", "2147483648", "[1,-1]", "[[1]]", "{}"}) {
    SCOPED_TRACE(ids);
    expect_refused(parse_generation_config(fmt::format(R"({{"eos_token_id":{}}})", ids)),
                   "eos_token_id");
  }
  std::string many = "[0";
  for (int i = 1; i < 257; ++i) many += fmt::format(",{}", i);
  expect_refused(parse_generation_config(fmt::format(R"({{"eos_token_id":{}]}})", many)),
                 "257 ids");
}

}  // namespace
}  // namespace lockstep::formats
