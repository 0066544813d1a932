// A config that does not fit its weights: goldens whose config.json says something else. Each is
// refused by the tensor that shows it, before anything is allocated by the size that it claims.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>

#include "base/mapped_file.h"
#include "device/factory.h"
#include "formats/checkpoint.h"
#include "formats/safetensors_writer.h"
#include "formats/testing/folder.h"
#include "formats/testing/refusal.h"
#include "model/model.h"

namespace lockstep::model {
namespace {

using formats::expect_refused;

constexpr int kRows = 512;

class ConfigPromisesTest : public ::testing::Test {
 protected:
  // The golden's weights under its config with `from` replaced by `to`.
  StatusOr<std::unique_ptr<Model>> build(const std::string& golden, std::string_view from,
                                         std::string_view to) {
    write_config(golden, from, to);
    const auto link = folder_.path("model.safetensors");
    std::filesystem::remove(link);
    std::filesystem::create_symlink(std::filesystem::absolute(weights(golden)), link);
    return open();
  }

  // The same with one tensor in another shape, all zeros.
  StatusOr<std::unique_ptr<Model>> build_reshaped(const std::string& golden, std::string_view from,
                                                  std::string_view to, std::string_view name,
                                                  const Shape& shape) {
    write_config(golden, from, to);
    const auto source = formats::open_checkpoint(directory(golden)).value();
    std::vector<formats::TensorSpec> specs;
    for (const std::string& tensor : source->tensor_names()) {
      const TensorView view = source->tensor(tensor).value();
      specs.push_back({tensor, view.dtype, tensor == name ? shape : view.shape});
    }
    auto writer =
        formats::SafetensorsWriter::create(folder_.path("model.safetensors"), specs).value();
    for (const auto& spec : specs) {
      const TensorView view = source->tensor(spec.name).value();
      const std::vector<std::byte> zeros(static_cast<size_t>(2 * shape[0] * shape[1]));
      EXPECT_TRUE(writer.append(spec.name == name ? std::span(zeros) : view.bytes).ok());
    }
    EXPECT_TRUE(writer.finish().ok());
    return open();
  }

 private:
  static std::string directory(const std::string& golden) { return "tests/goldens/" + golden; }
  static std::string weights(const std::string& golden) {
    return directory(golden) + "/model.safetensors";
  }
  void write_config(const std::string& golden, std::string_view from, std::string_view to) {
    std::string config = read_file(directory(golden) + "/config.json", 1 << 20).value();
    const size_t at = config.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    folder_.write("config.json", config.replace(at, from.size(), to));
  }
  StatusOr<std::unique_ptr<Model>> open() {
    LOCKSTEP_ASSIGN_OR_RETURN(checkpoint_, formats::open_checkpoint(folder_.path()));
    const Profile profile = {.arithmetic = Arithmetic::kF32, .kv = KvType::kF32};
    LOCKSTEP_ASSIGN_OR_RETURN(
        device_, device::make_device({.name = "reference", .profile = profile, .threads = 1}));
    return build_model(*checkpoint_, *device_, {.max_rows = kRows, .max_logit_rows = kRows});
  }

  const formats::TestFolder folder_;
  std::unique_ptr<formats::Checkpoint> checkpoint_;
  std::unique_ptr<device::Device> device_;
};

TEST_F(ConfigPromisesTest, VocabularyThatDiffersFromTheTableIsRefused) {
  for (const char* golden : {"llama", "mistral", "qwen2", "qwen3", "gemma2", "gemma3"}) {
    expect_refused(build(golden, "\"vocab_size\": 384", "\"vocab_size\": 383"),
                   "tensor model.embed_tokens.weight has shape [384, 64]; the config asks for "
                   "[383, 64]");
  }
}

TEST_F(ConfigPromisesTest, HeadOfAnotherVocabularyIsRefused) {
  expect_refused(build_reshaped("mistral", "{", "{", "lm_head.weight", {385, 64}),
                 "tensor lm_head.weight has shape [385, 64]; the config asks for [384, 64]");
}

TEST_F(ConfigPromisesTest, SpareHeadOfATiedModelMustHaveTheTablesShape) {
  constexpr std::string_view kUntied = "\"tie_word_embeddings\": false";
  constexpr std::string_view kTied = "\"tie_word_embeddings\": true";
  const auto spare = build("mistral", kUntied, kTied);
  EXPECT_TRUE(spare.ok()) << spare.status();
  expect_refused(build_reshaped("mistral", kUntied, kTied, "lm_head.weight", {384, 63}),
                 "tensor lm_head.weight has shape [384, 63]");
}

TEST_F(ConfigPromisesTest, UntiedModelWithoutAHeadIsRefused) {
  expect_refused(build("qwen2", "\"tie_word_embeddings\": true", "\"tie_word_embeddings\": false"),
                 "tensor 'lm_head.weight' is missing");
}

TEST_F(ConfigPromisesTest, LayersTooManyOrTooFewAreRefused) {
  expect_refused(build("mistral", "\"num_hidden_layers\": 4", "\"num_hidden_layers\": 5"),
                 "tensor 'model.layers.4.input_layernorm.weight' is missing");
  expect_refused(build("mistral", "\"num_hidden_layers\": 4", "\"num_hidden_layers\": 3"),
                 "tensor model.layers.3.");
}

TEST_F(ConfigPromisesTest, OtherSizesAreRefusedByTheirFirstTensor) {
  expect_refused(build("mistral", "\"hidden_size\": 64", "\"hidden_size\": 128"),
                 "model.embed_tokens.weight");
  expect_refused(build("mistral", "\"num_attention_heads\": 4", "\"num_attention_heads\": 8"),
                 "model.layers.0.self_attn.q_proj.weight");
  expect_refused(build("mistral", "\"num_key_value_heads\": 2", "\"num_key_value_heads\": 4"),
                 "model.layers.0.self_attn.k_proj.weight");
  expect_refused(build("qwen3", "\"head_dim\": 32", "\"head_dim\": 16"),
                 "model.layers.0.self_attn.q_proj.weight");
  expect_refused(build("gemma2", "\"intermediate_size\": 160", "\"intermediate_size\": 161"),
                 "model.layers.0.mlp.gate_proj.weight");
}

TEST_F(ConfigPromisesTest, FamilyWithOtherTensorsIsRefused) {
  expect_refused(build("qwen2", "\"model_type\": \"qwen2\"", "\"model_type\": \"mistral\""),
                 "_proj.bias belongs to no part of a mistral model");
  expect_refused(build("llama", "\"model_type\": \"llama\"", "\"model_type\": \"qwen2\""),
                 "tensor 'model.layers.0.self_attn.q_proj.bias' is missing");
  expect_refused(build("qwen3", "\"model_type\": \"qwen3\"", "\"model_type\": \"llama\""),
                 "_norm.weight belongs to no part of a llama model");
}

// Activations of such sizes would be gigabytes.
TEST_F(ConfigPromisesTest, ClaimedSizesAllocateNothing) {
  expect_refused(build("mistral", "\"intermediate_size\": 160", "\"intermediate_size\": 1048576"),
                 "model.layers.0.mlp.gate_proj.weight");
  expect_refused(build("mistral", "\"head_dim\": 16", "\"head_dim\": 1024"), "q_proj.weight");
  const auto model = build("mistral", "\"max_position_embeddings\": 512",
                           "\"max_position_embeddings\": 134217728");
  EXPECT_TRUE(model.ok()) << model.status();
  rusage usage;
  ASSERT_EQ(getrusage(RUSAGE_SELF, &usage), 0);
  EXPECT_LT(usage.ru_maxrss, 1 << 20);  // KiB
}

}  // namespace
}  // namespace lockstep::model
