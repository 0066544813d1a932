// Test helper: the fields of a config.json, as text, for tests to bend.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/config_json.h"
#include "formats/testing/refusal.h"

namespace lockstep::formats {

class ConfigFields {
 public:
  ConfigFields(std::initializer_list<std::pair<std::string, std::string>> fields)
      : fields_(fields) {}

  ConfigFields with(std::string_view key, std::string_view json) const {
    ConfigFields out = without(key);
    out.fields_.emplace_back(key, json);
    return out;
  }
  ConfigFields without(std::string_view key) const {
    ConfigFields out = *this;
    std::erase_if(out.fields_, [&](const auto& field) { return field.first == key; });
    return out;
  }
  std::string json() const {
    std::string out;
    for (const auto& [key, value] : fields_) {
      out += fmt::format("{}\"{}\":{}", out.empty() ? "{" : ",", key, value);
    }
    return out + "}";
  }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

inline ModelConfig parsed(const ConfigFields& fields) {
  auto config = parse_config_json(fields.json());
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? *config : ModelConfig();
}
inline void refuse(const ConfigFields& fields, std::string_view part) {
  expect_refused(parse_config_json(fields.json()), part);
}

// Llama 3.2 1B, as published (old rope spelling).
inline const ConfigFields kLlamaConfig = {
    {"model_type", "\"llama\""},
    {"attention_bias", "false"},
    {"bos_token_id", "128000"},
    {"eos_token_id", "[128001,128008,128009]"},
    {"head_dim", "64"},
    {"hidden_act", "\"silu\""},
    {"hidden_size", "2048"},
    {"intermediate_size", "8192"},
    {"max_position_embeddings", "131072"},
    {"mlp_bias", "false"},
    {"num_attention_heads", "32"},
    {"num_hidden_layers", "16"},
    {"num_key_value_heads", "8"},
    {"rms_norm_eps", "1e-05"},
    {"rope_scaling",
     R"({"factor":32.0,"high_freq_factor":4.0,"low_freq_factor":1.0,
                            "original_max_position_embeddings":8192,"rope_type":"llama3"})"},
    {"rope_theta", "500000.0"},
    {"tie_word_embeddings", "true"},
    {"vocab_size", "128256"}};

}  // namespace lockstep::formats
