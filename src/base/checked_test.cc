#include "base/checked.h"

#include <gtest/gtest.h>

#include <array>

namespace lockstep {
namespace {

constexpr uint64_t kMax = UINT64_MAX;

TEST(Checked, AddRefusesTheFirstSumThatDoesNotFit) {
  EXPECT_EQ(checked_add(kMax - 1, 1), kMax);
  EXPECT_EQ(checked_add(kMax, 1), std::nullopt);
  EXPECT_EQ(checked_add(kMax, kMax), std::nullopt);
}

TEST(Checked, MultiplyRefusesTheFirstProductThatDoesNotFit) {
  EXPECT_EQ(checked_multiply(uint64_t{1} << 32, (uint64_t{1} << 32) - 1), kMax - 0xffffffffu);
  EXPECT_EQ(checked_multiply(uint64_t{1} << 32, uint64_t{1} << 32), std::nullopt);
}

TEST(Checked, ProductOfNothingIsOne) { EXPECT_EQ(checked_product({}), 1u); }

TEST(Checked, ProductRefusesOverflowInAnyOrder) {
  EXPECT_EQ(checked_product(std::array<uint64_t, 3>{kMax, 2, 1}), std::nullopt);
  EXPECT_EQ(checked_product(std::array<uint64_t, 3>{1, 2, kMax}), std::nullopt);
}

TEST(Checked, ZeroFactorGivesZeroInAnyOrder) {
  EXPECT_EQ(checked_product(std::array<uint64_t, 3>{kMax, kMax, 0}), 0u);
  EXPECT_EQ(checked_product(std::array<uint64_t, 3>{0, kMax, kMax}), 0u);
}

TEST(Checked, RoundingUpKeepsMultiples) {
  EXPECT_EQ(round_up(0, 8), 0);
  EXPECT_EQ(round_up(1, 8), 8);
  EXPECT_EQ(round_up(8, 8), 8);
  EXPECT_EQ(ceil_div(0, 8), 0);
  EXPECT_EQ(ceil_div(9, 8), 2);
  EXPECT_EQ(ceil_div(16, 8), 2);
}

}  // namespace
}  // namespace lockstep
