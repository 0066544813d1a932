// A model as a GGUF file computes what it computes as a Hugging Face directory.
#include <gtest/gtest.h>

#include "engine/testing/gguf_form.h"
#include "engine/testing/golden.h"
#include "engine/testing/loaded.h"
#include "formats/testing/folder.h"

namespace lockstep::engine {
namespace {

using testing::Golden;

class GgufModelTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const auto source = formats::open_checkpoint(testing::golden_path(GetParam()));
    ASSERT_TRUE(source.ok()) << source.status();
    folder_.write("model.gguf", testing::gguf_form(**source));
  }
  testing::Loaded load(const std::string& path) const {
    return testing::load(
        path, testing::make(testing::device_kinds().back(), testing::profile_of(Arithmetic::kF32)));
  }
  testing::Loaded file() const { return load(folder_.path("model.gguf")); }

  const formats::TestFolder folder_;
  const Golden golden_{GetParam()};
};

TEST_P(GgufModelTest, MeetsItsGolden) {
  testing::Loaded loaded = file();
  for (int i = 0; i < testing::kGoldenPrompts; ++i) {
    const std::string n = std::to_string(i);
    EXPECT_LE(testing::largest_difference(loaded.score(golden_.ids("tokens_" + n)),
                                          golden_.floats("logits_" + n)),
              testing::kF32Bound)
        << "prompt " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, GgufModelTest,
                         ::testing::Values("llama", "llama_wide", "mistral", "qwen2", "qwen3",
                                           "qwen3_yarn", "gemma2", "gemma3"),
                         [](const auto& tested) { return tested.param; });

// Families whose file holds the directory's very numbers in its order.
class SameNumbersTest : public GgufModelTest {};

TEST_P(SameNumbersTest, GivesTheBitsOfItsDirectory) {
  const auto ids = golden_.ids("tokens_3");
  const auto expected = load(testing::golden_path(GetParam())).score(ids);
  EXPECT_TRUE(testing::same_bits(file().score(ids), expected));
}

INSTANTIATE_TEST_SUITE_P(All, SameNumbersTest,
                         ::testing::Values("qwen2", "qwen3", "qwen3_yarn", "gemma3"),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace lockstep::engine
