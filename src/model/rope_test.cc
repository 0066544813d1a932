#include "model/rope.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockstep::model {
namespace {

std::vector<float> frequencies(double theta, const formats::RopeScaling& scaling, int64_t rotary) {
  return rope_spec({.theta = theta, .scaling = scaling}, rotary, device::RopeStyle::kHalf)
      .inverse_frequencies;
}

// Expected values are libm's, which may differ from ours in the last bits.
void expect_close(const std::vector<float>& ours, const std::vector<double>& expected) {
  ASSERT_EQ(ours.size(), expected.size());
  for (size_t i = 0; i < ours.size(); ++i) {
    EXPECT_NEAR(double{ours[i]} / expected[i], 1.0, 1e-7) << "pair " << i;
  }
}

std::vector<double> plain(double theta, int64_t rotary) {
  std::vector<double> out;
  out.reserve(static_cast<size_t>(rotary / 2));
  for (int64_t i = 0; i < rotary / 2; ++i) {
    out.push_back(std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(rotary)));
  }
  return out;
}

TEST(Rope, PairsTurnByPowersOfTheBase) {
  expect_close(frequencies(10000.0, {}, 8), {1.0, 0.1, 0.01, 0.001});
  expect_close(frequencies(500000.0, {}, 10), plain(500000.0, 10));
}

TEST(Rope, LinearScalingDividesEveryFrequency) {
  expect_close(frequencies(10000.0, formats::RopeLinear{.factor = 8.0}, 4), {0.125, 0.00125});
}

TEST(Rope, DivisorsOfAGgufFileDivideEachItsOwn) {
  expect_close(frequencies(10000.0, formats::RopeFactors{.divisors = {1.0f, 4.0f}}, 4),
               {1.0, 0.0025});
}

// Llama 3.1 8B: base 500000, head size 128, factor 8, original context 8192.
TEST(Rope, Llama3KeepsShortWavesDividesLongOnesAndBlendsBetween) {
  const formats::RopeLlama3 rule = {.factor = 8.0,
                                    .low_freq_factor = 1.0,
                                    .high_freq_factor = 4.0,
                                    .original_max_positions = 8192};
  const auto scaled = frequencies(500000.0, rule, 128);
  const auto unscaled = plain(500000.0, 128);
  for (size_t i = 0; i < scaled.size(); ++i) {
    const double turns = 8192 * unscaled[i] / (2 * 3.141592653589793);
    const double ratio = double{scaled[i]} / unscaled[i];
    if (turns > 4) {
      EXPECT_NEAR(ratio, 1.0, 1e-7) << "pair " << i;
    } else if (turns < 1) {
      EXPECT_NEAR(ratio, 0.125, 1e-7) << "pair " << i;
    } else {
      EXPECT_NEAR(ratio, 0.125 + 0.875 * (turns - 1) / 3, 1e-6) << "pair " << i;
    }
  }
  EXPECT_LT(scaled.back(), unscaled.back());
  EXPECT_FLOAT_EQ(scaled.front(), 1.0f);
}

}  // namespace
}  // namespace lockstep::model
