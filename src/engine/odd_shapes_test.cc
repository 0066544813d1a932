// Models of odd sizes: head sizes and widths that are no multiple of a vector, reductions of odd
// length, any group of query heads. Every instruction set gives the reference device's bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "device/testing/test_tensors.h"
#include "engine/testing/loaded.h"
#include "engine/testing/made_model.h"

namespace lockstep::engine {
namespace {

using testing::DeviceKind;
using testing::MadeModel;

struct Case {
  std::string name;
  MadeModel model;
  int tokens = 45;  // two pages, the second partly
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

std::vector<Profile> profiles_of(const MadeModel& model) {
  using enum Arithmetic;
  if (dtype_info(model.dtype).quantised()) {
    return {testing::profile_of(kInt8), testing::profile_of(kF32)};
  }
  return {testing::profile_of(kF32), testing::profile_of(kBF16), {kF32, KvType::kF16}};
}

class OddShapesTest : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (dtype_info(GetParam().model.dtype).quantised()) {
      testing::write_gguf(GetParam().model, folder_);
      path_ = folder_.path("model.gguf");
    } else {
      testing::write_hugging_face(GetParam().model, folder_);
      path_ = folder_.path();
    }
    for (int i = 0; i < GetParam().tokens; ++i)
      ids_.push_back((i * 7 + 3) % GetParam().model.vocab);
  }
  std::vector<float> logits(const DeviceKind& kind, const Profile& profile, int chunk_rows) const {
    return testing::load(path_, testing::make(kind, profile), chunk_rows).score(ids_);
  }
  const formats::TestFolder folder_;
  std::string path_;
  std::vector<int64_t> ids_;
};

TEST_P(OddShapesTest, EveryInstructionSetAndChunkGivesTheReferencesBits) {
  const auto kinds = testing::device_kinds();
  for (const Profile& profile : profiles_of(GetParam().model)) {
    const auto expected = logits(kinds.front(), profile, 0);
    ASSERT_EQ(expected.size(), ids_.size() * static_cast<size_t>(GetParam().model.vocab));
    // Bits that say nothing would be equal too.
    EXPECT_TRUE(std::ranges::all_of(expected, [](float x) { return std::isfinite(x); }));
    EXPECT_NE(expected.front(), expected.back());
    for (const DeviceKind& kind : kinds) {
      for (const int chunk_rows : {0, 7}) {
        EXPECT_TRUE(testing::same_bits(logits(kind, profile, chunk_rows), expected))
            << kind.name << " " << profile.name() << ", chunks of " << chunk_rows;
      }
    }
  }
}

std::vector<Case> all_cases() {
  std::vector<Case> cases = {
      {"head_6_group_3", {}},
      {"head_10_group_5_biases",
       {.dtype = DType::kF16,
        .vocab = 101,
        .hidden = 30,
        .intermediate = 22,
        .layers = 2,
        .heads = 5,
        .kv_heads = 1,
        .head_size = 10,
        .tied = false,
        .bias = true}},
      {"odd_widths", {.hidden = 17, .intermediate = 31, .heads = 7, .kv_heads = 7}},
      {"head_2",
       {.dtype = DType::kF32,
        .hidden = 5,
        .intermediate = 3,
        .heads = 6,
        .kv_heads = 2,
        .head_size = 2}},
      {"head_66",
       {.vocab = 3, .hidden = 70, .intermediate = 33, .heads = 2, .kv_heads = 1, .head_size = 66}},
      {"head_258", {.hidden = 33, .intermediate = 65, .heads = 2, .kv_heads = 2, .head_size = 258}},
      {"several_slices",
       {.hidden = 577, .intermediate = 1031, .heads = 9, .kv_heads = 3, .head_size = 14}},
      {"vocabulary_of_2", {.vocab = 2}},
      {"gemma3_head_10_window_5",
       {.family = "gemma3",
        .hidden = 30,
        .intermediate = 21,
        .layers = 4,
        .heads = 6,
        .kv_heads = 2,
        .head_size = 10,
        .window = 5}},
      {"gemma3_head_6_window_33",
       {.family = "gemma3", .dtype = DType::kF32, .layers = 3, .heads = 5, .window = 33}},
      {"gemma2_head_10_window_over_chunks",
       {.family = "gemma2",
        .hidden = 30,
        .intermediate = 21,
        .layers = 2,
        .heads = 6,
        .kv_heads = 2,
        .head_size = 10,
        .window = 37},
       280},
      {"mistral_window_over_chunks",
       {.family = "mistral", .hidden = 17, .layers = 2, .window = 51, .tied = false},
       280},
      {"mistral_window_1", {.family = "mistral", .layers = 2, .head_size = 14, .window = 1}},
      {"mistral_no_window", {.family = "mistral", .dtype = DType::kF16}},
      {"qwen2_head_6_group_7_upper_window",
       {.family = "qwen2", .hidden = 33, .layers = 3, .heads = 7, .window = 9}},
      {"qwen2_untied_f16",
       {.family = "qwen2", .dtype = DType::kF16, .intermediate = 7, .heads = 4, .tied = false}},
      {"qwen3_head_10_biases",
       {.family = "qwen3",
        .hidden = 23,
        .layers = 2,
        .heads = 4,
        .kv_heads = 2,
        .head_size = 10,
        .bias = true}},
      {"qwen3_head_66_untied_f32",
       {.family = "qwen3", .dtype = DType::kF32, .head_size = 66, .tied = false}},
  };
  for (const DType dtype : device::contract::kBlockTypes) {
    const std::string name(dtype_name(dtype));
    if (dtype_info(dtype).block_elements == 32) {
      cases.push_back({name + "_head_6_group_4",
                       {.dtype = dtype,
                        .hidden = 96,
                        .intermediate = 160,
                        .heads = 16,
                        .kv_heads = 4,
                        .tied = dtype != DType::kQ4_1}});
    } else {
      cases.push_back({name + "_head_32_group_8",
                       {.dtype = dtype,
                        .hidden = 256,
                        .intermediate = 768,
                        .heads = 8,
                        .kv_heads = 1,
                        .head_size = 32,
                        .bias = dtype == DType::kQ4_K}});
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, OddShapesTest, ::testing::ValuesIn(all_cases()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace lockstep::engine
