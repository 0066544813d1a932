// Tiny checkpoints against an outside implementation's logits in float32 (tests/goldens/README.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/testing/golden.h"
#include "engine/testing/loaded.h"

namespace lockstep::engine {
namespace {

using testing::DeviceKind;
using testing::Golden;
using testing::kF32Bound;
using testing::Loaded;

// Rounding to bf16 moves a value by at most 2^-9 of itself. A layer rounds eight times (inputs of
// four matrices, q, k, v, the weights p), the head once more; roundings add like independent
// errors; scores, whose standard deviation is 1.8 here, pass theirs on that much larger. With
// logits of standard deviation 1.3 that bounds the root mean square of the difference, and the
// largest of 10^5 stays within 5 of those. (The same roundings emulated in float64 outside this
// program give the llama golden 0.079 at most; its bound is 0.13.)
double bf16_bound(int layers) { return 5 * (1.0 / 512) * std::sqrt(8.0 * layers + 1) * 1.8 * 1.3; }
struct Case {
  std::string family;
  DeviceKind device;
  Arithmetic arithmetic;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const std::string family :
       {"llama", "llama_wide", "mistral", "qwen2", "qwen3", "qwen3_yarn", "gemma2", "gemma3"}) {
    for (const DeviceKind& kind : testing::device_kinds()) {
      for (const Arithmetic arithmetic : {Arithmetic::kF32, Arithmetic::kBF16}) {
        cases.push_back({family, kind, arithmetic});
      }
    }
  }
  return cases;
}

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  return info.param.family + "_" + info.param.device.name +
         (info.param.arithmetic == Arithmetic::kF32 ? "_f32" : "_bf16");
}

// Keeps failure messages short.
void PrintTo(const Case& c, std::ostream* out) { *out << c.family << " on " << c.device.name; }

class GoldenTest : public ::testing::TestWithParam<Case> {
 protected:
  Loaded load() const {
    return testing::load(
        testing::golden_path(GetParam().family),
        testing::make(GetParam().device, testing::profile_of(GetParam().arithmetic)));
  }
  double bound(const Loaded& loaded) const {
    const auto layers = static_cast<int>(loaded.checkpoint->config().layers);
    return GetParam().arithmetic == Arithmetic::kF32 ? kF32Bound : bf16_bound(layers);
  }
  const Golden golden_{GetParam().family};
};

TEST_P(GoldenTest, LogitsAreWithinTheBound) {
  Loaded loaded = load();
  double largest = 0;
  for (int i = 0; i < testing::kGoldenPrompts; ++i) {
    const std::string n = std::to_string(i);
    const double difference = testing::largest_difference(loaded.score(golden_.ids("tokens_" + n)),
                                                          golden_.floats("logits_" + n));
    EXPECT_LE(difference, bound(loaded)) << "prompt " << i;
    largest = std::max(largest, difference);
  }
  RecordProperty("largest_difference", std::to_string(largest));
}

TEST_P(GoldenTest, GreedyTokensAreEqualUntilTheMarginIsInsideTheBound) {
  Loaded loaded = load();
  const auto expected = golden_.ids("greedy_tokens");
  const auto margins = golden_.floats("greedy_margin");
  const auto tokens =
      loaded.continue_greedily(golden_.ids("greedy_prompt"), static_cast<int>(expected.size()));
  for (size_t i = 0; i < expected.size() && double{margins[i]} >= 2 * bound(loaded); ++i) {
    EXPECT_EQ(tokens[i], expected[i]) << "step " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, GoldenTest, ::testing::ValuesIn(all_cases()), case_name);

}  // namespace
}  // namespace lockstep::engine
