#include "model/rope.h"

#include <gtest/gtest.h>

#include <algorithm>
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

// Qwen 3 stretched fourfold: base 10^6, head size 128, original context 32768.
constexpr formats::RopeYarn kYarn = {
    .factor = 4.0, .attention_factor = 1.25, .original_max_positions = 32768};

double turns_of(size_t pair) {
  return 32768 * std::pow(1e6, -static_cast<double>(pair) / 64) / (2 * 3.141592653589793);
}

TEST(Rope, YarnKeepsFastPairsDividesSlowOnesAndBlendsByPairBetween) {
  const auto scaled = frequencies(1e6, kYarn, 128);
  const auto unscaled = plain(1e6, 128);
  size_t first = 0;  // the last pair of at least 32 turns: the blend starts there
  while (turns_of(first + 1) >= 32) ++first;
  size_t last = first;  // the first of at most 1
  while (turns_of(last) > 1) ++last;
  ASSERT_LT(first + 10, last);
  for (size_t i = 0; i < scaled.size(); ++i) {
    const double divided = std::clamp(
        (static_cast<double>(i) - static_cast<double>(first)) / static_cast<double>(last - first),
        0.0, 1.0);
    EXPECT_NEAR(double{scaled[i]} / unscaled[i], 1.0 - 0.75 * divided, 1e-6) << "pair " << i;
  }
}

TEST(Rope, YarnWithoutTruncationBlendsFromFractionsOfPairs) {
  formats::RopeYarn rule = kYarn;
  rule.truncate = false;
  const auto whole = frequencies(1e6, kYarn, 128);
  const auto fractions = frequencies(1e6, rule, 128);
  EXPECT_FLOAT_EQ(fractions.front(), whole.front());
  EXPECT_FLOAT_EQ(fractions.back(), whole.back());
  EXPECT_NE(fractions, whole);
}

TEST(Rope, YarnScalesSinesAndCosines) {
  const formats::RopeConfig rope = {.theta = 1e6, .scaling = kYarn};
  EXPECT_EQ(rope_spec(rope, 128, device::RopeStyle::kHalf).magnitude, 1.25f);
}

TEST(Rope, YarnOfAContextShorterThanATurnDividesEveryPairButTheFirst) {
  formats::RopeYarn rule = kYarn;
  rule.original_max_positions = 1;
  const auto scaled = frequencies(1e6, rule, 8);
  const auto unscaled = plain(1e6, 8);
  EXPECT_FLOAT_EQ(scaled.front(), 1.0f);
  for (size_t i = 1; i < scaled.size(); ++i) {
    EXPECT_NEAR(double{scaled[i]} / unscaled[i], 0.25, 1e-6) << "pair " << i;
  }
}

}  // namespace
}  // namespace lockstep::model
