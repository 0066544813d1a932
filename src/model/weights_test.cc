// What a checkpoint's tensors must be for a model to be built over them.
#include "model/weights.h"

#include <gtest/gtest.h>

#include "device/factory.h"
#include "formats/testing/folder.h"
#include "formats/testing/gguf_builder.h"
#include "formats/testing/refusal.h"
#include "model/model.h"

namespace lockstep::model {
namespace {

using formats::expect_refused;
using formats::GgufBuilder;

class WeightsTest : public ::testing::Test {
 protected:
  StatusOr<std::unique_ptr<Model>> build(const GgufBuilder& file) {
    folder_.write("model.gguf", file.build());
    LOCKSTEP_ASSIGN_OR_RETURN(checkpoint_, formats::open_checkpoint(folder_.path("model.gguf")));
    const Profile profile = {.arithmetic = Arithmetic::kF32, .kv = KvType::kF32};
    LOCKSTEP_ASSIGN_OR_RETURN(
        device_, device::make_device({.name = "reference", .profile = profile, .threads = 1}));
    return build_model(*checkpoint_, *device_, {.max_rows = 4, .max_logit_rows = 4});
  }
  // The file with one tensor in another shape, or of another type.
  GgufBuilder with(std::string_view name, std::vector<uint64_t> dims, uint32_t type = 0) {
    GgufBuilder file = formats::tiny_llama_gguf();
    file.remove_tensor(name);
    return file.add_tensor({.name = std::string(name),
                            .dims = std::move(dims),
                            .type = type,
                            .data = {},
                            .offset = {}});
  }
  const formats::TestFolder folder_;
  std::unique_ptr<formats::Checkpoint> checkpoint_;
  std::unique_ptr<device::Device> device_;
};

TEST_F(WeightsTest, CompleteFileIsBound) {
  const auto model = build(formats::tiny_llama_gguf());
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ((*model)->vocabulary().size(), 6);
  EXPECT_EQ((*model)->state_layout().layers.size(), 2u);
}

TEST_F(WeightsTest, MissingTensorIsNamed) {
  GgufBuilder file = formats::tiny_llama_gguf();
  expect_refused(build(file.remove_tensor("blk.1.ffn_up.weight")), "blk.1.ffn_up.weight");
}

TEST_F(WeightsTest, WrongShapeIsNamedWithTheExpectedOne) {
  const auto model = build(with("blk.1.attn_k.weight", {8, 8}));
  expect_refused(model, "tensor blk.1.attn_k.weight has shape [8, 8]");
  expect_refused(model, "[4, 8]");
}

TEST_F(WeightsTest, TransposedMatrixIsRefused) {
  expect_refused(build(with("blk.0.ffn_down.weight", {8, 16})), "blk.0.ffn_down.weight");
}

TEST_F(WeightsTest, NormOfTheWrongLengthIsRefused) {
  expect_refused(build(with("blk.0.attn_norm.weight", {7})), "blk.0.attn_norm.weight");
}

TEST_F(WeightsTest, TensorThatNothingAsksForIsRefused) {
  expect_refused(build(with("blk.2.attn_q.weight", {8, 8})), "tensor blk.2.attn_q.weight belongs");
  expect_refused(build(with("blk.0.attn_q.bias", {8})), "blk.0.attn_k.bias");
}

TEST_F(WeightsTest, IntegersAreNoWeights) {
  constexpr uint32_t kI32 = 26;
  expect_refused(build(with("blk.0.attn_q.weight", {8, 8}, kI32)), "blk.0.attn_q.weight is I32");
}

// The tiny llama file as another architecture.
GgufBuilder renamed(std::string_view architecture) {
  GgufBuilder file = formats::tiny_llama_gguf();
  file.set_string("general.architecture", architecture);
  for (const char* key : {"block_count", "context_length", "embedding_length",
                          "feed_forward_length", "attention.head_count"}) {
    file.set_u32(fmt::format("{}.{}", architecture, key), 8);
  }
  file.set_u32(fmt::format("{}.block_count", architecture), 2)
      .set_u32(fmt::format("{}.attention.head_count", architecture), 2)
      .set_u32(fmt::format("{}.attention.head_count_kv", architecture), 1)
      .set_u32(fmt::format("{}.feed_forward_length", architecture), 16)
      .set_u32(fmt::format("{}.attention.sliding_window", architecture), 4)
      .set_u32(fmt::format("{}.attention.sliding_window_pattern", architecture), 2)
      .set_f32(fmt::format("{}.attention.layer_norm_rms_epsilon", architecture), 1e-6f);
  return file;
}
void add(GgufBuilder& file, std::string_view name, std::vector<uint64_t> dims) {
  file.add_tensor({.name = std::string(name), .dims = std::move(dims), .data = {}, .offset = {}});
}

TEST_F(WeightsTest, BiasesOfQwen2AreAskedFor) {
  GgufBuilder file = renamed("qwen2");
  expect_refused(build(file), "blk.0.attn_q.bias");
  for (const char* layer : {"blk.0.", "blk.1."}) {
    add(file, std::string(layer) + "attn_q.bias", {8});
    add(file, std::string(layer) + "attn_k.bias", {4});
    add(file, std::string(layer) + "attn_v.bias", {4});
  }
  const auto model = build(file);
  EXPECT_TRUE(model.ok()) << model.status();
  add(file, "blk.1.attn_output.bias", {8});
  expect_refused(build(file), "tensor blk.1.attn_output.bias belongs to no part of a qwen2 model");
}

TEST_F(WeightsTest, NormsOfQwen3HaveTheSizeOfAHead) {
  GgufBuilder file = renamed("qwen3");
  expect_refused(build(file), "blk.0.attn_q_norm.weight");
  for (const char* layer : {"blk.0.", "blk.1."}) {
    add(file, std::string(layer) + "attn_q_norm.weight", {4});
    add(file, std::string(layer) + "attn_k_norm.weight", {4});
  }
  const auto model = build(file);
  EXPECT_TRUE(model.ok()) << model.status();
  file.remove_tensor("blk.1.attn_k_norm.weight");
  add(file, "blk.1.attn_k_norm.weight", {8});
  expect_refused(build(file), "tensor blk.1.attn_k_norm.weight has shape [8]");
}

TEST_F(WeightsTest, NormsAfterTheBlocksOfGemma2AreAskedFor) {
  GgufBuilder file = renamed("gemma2");
  expect_refused(build(file), "blk.0.post_attention_norm.weight");
  for (const char* layer : {"blk.0.", "blk.1."}) {
    add(file, std::string(layer) + "post_attention_norm.weight", {8});
    add(file, std::string(layer) + "post_ffw_norm.weight", {8});
  }
  const auto model = build(file);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ((*model)->state_layout().groups.size(), 2u);
}

TEST_F(WeightsTest, GroupThatNoLayerIsInIsLeftOut) {
  GgufBuilder file = formats::tiny_llama_gguf();
  file.set_u32("llama.attention.sliding_window", 4);
  const auto model = build(file);
  ASSERT_TRUE(model.ok()) << model.status();
  const StateLayout& layout = (*model)->state_layout();
  ASSERT_EQ(layout.groups.size(), 1u);
  EXPECT_EQ(layout.groups[0].kind, StateKind::kWindow);
  EXPECT_EQ(layout.groups[0].window, 4);
  EXPECT_EQ(layout.groups[0].layers, 2);
}

TEST_F(WeightsTest, HeadOfAnUntiedModelIsRead) {
  EXPECT_TRUE(build(with("output.weight", {8, 6})).ok());
  expect_refused(build(with("output.weight", {8, 7})), "output.weight has shape [7, 8]");
}

}  // namespace
}  // namespace lockstep::model
