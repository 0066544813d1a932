#include "base/float16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lockstep {
namespace {

// The value of a half by the definition of IEEE 754 binary16; exact in a double.
double half_value(uint16_t h) {
  const int exponent = (h >> 10) & 31;
  const int fraction = h & 0x3ff;
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return (h & 0x8000) != 0 ? -magnitude : magnitude;
}

bool is_half_nan(uint16_t h) { return (h & 0x7c00) == 0x7c00 && (h & 0x3ff) != 0; }
bool is_bf16_nan(uint16_t b) { return (b & 0x7f80) == 0x7f80 && (b & 0x7f) != 0; }
uint32_t bits(float x) { return std::bit_cast<uint32_t>(x); }

TEST(F16, EveryFiniteHalfWidensToItsValue) {
  for (uint32_t h = 0; h < 0x10000; ++h) {
    const auto half = static_cast<uint16_t>(h);
    if ((half & 0x7c00) == 0x7c00) continue;
    const float wide = f32_from_f16(half);
    ASSERT_EQ(static_cast<double>(wide), half_value(half)) << h;
    ASSERT_EQ(std::signbit(wide), (h & 0x8000) != 0) << h;
  }
}

TEST(F16, InfinitiesAndNaNsWiden) {
  EXPECT_EQ(f32_from_f16(0x7c00), std::numeric_limits<float>::infinity());
  EXPECT_EQ(f32_from_f16(0xfc00), -std::numeric_limits<float>::infinity());
  for (uint32_t h = 0; h < 0x10000; ++h) {
    if (!is_half_nan(static_cast<uint16_t>(h))) continue;
    const uint32_t wide = bits(f32_from_f16(static_cast<uint16_t>(h)));
    ASSERT_EQ(wide, (h & 0x8000) << 16 | 0x7fc00000u | (h & 0x3ff) << 13) << h;
  }
}

TEST(F16, EveryHalfComesBack) {
  for (uint32_t h = 0; h < 0x10000; ++h) {
    const auto half = static_cast<uint16_t>(h);
    const uint16_t expected = is_half_nan(half) ? half | 0x200 : half;
    ASSERT_EQ(f16_from_f32(f32_from_f16(half)), expected) << h;
  }
}

TEST(F16, MidpointsRoundToEvenAndTheirNeighboursToTheNearest) {
  for (uint32_t h = 0; h < 0x7bff; ++h) {  // every pair of neighbours, denormals included
    const auto low = static_cast<uint16_t>(h);
    const auto high = static_cast<uint16_t>(h + 1);
    const auto middle = static_cast<float>((half_value(low) + half_value(high)) / 2);  // exact
    const uint16_t even = (h & 1) == 0 ? low : high;
    ASSERT_EQ(f16_from_f32(middle), even) << h;
    ASSERT_EQ(f16_from_f32(std::nextafterf(middle, INFINITY)), high) << h;
    ASSERT_EQ(f16_from_f32(std::nextafterf(middle, 0.0f)), low) << h;
    ASSERT_EQ(f16_from_f32(-middle), even | 0x8000) << h;
  }
}

TEST(F16, OverflowBeginsHalfwayPastTheLargest) {
  EXPECT_EQ(f16_from_f32(65504.0f), 0x7bff);
  EXPECT_EQ(f16_from_f32(std::nextafterf(65520.0f, 0.0f)), 0x7bff);
  EXPECT_EQ(f16_from_f32(65520.0f), 0x7c00);
  EXPECT_EQ(f16_from_f32(std::numeric_limits<float>::max()), 0x7c00);
  EXPECT_EQ(f16_from_f32(-INFINITY), 0xfc00);
}

TEST(F16, TheSmallestFloatsGiveSignedZero) {
  EXPECT_EQ(f16_from_f32(std::bit_cast<float>(1u)), 0x0000);
  EXPECT_EQ(f16_from_f32(std::bit_cast<float>(0x80000001u)), 0x8000);
}

TEST(BF16, EveryValueWidensToItsBits) {
  for (uint32_t b = 0; b < 0x10000; ++b) {
    ASSERT_EQ(bits(f32_from_bf16(static_cast<uint16_t>(b))), b << 16);
  }
}

TEST(BF16, EveryValueComesBackButDenormalsAsZeroAndNaNsQuiet) {
  for (uint32_t b = 0; b < 0x10000; ++b) {
    const auto value = static_cast<uint16_t>(b);
    uint16_t expected = value;
    if ((value & 0x7f80) == 0) expected = value & 0x8000;
    if (is_bf16_nan(value)) expected = value | 0x40;
    ASSERT_EQ(bf16_from_f32(f32_from_bf16(value)), expected) << b;
  }
}

TEST(BF16, MidpointsRoundToEvenAndTheirNeighboursToTheNearest) {
  for (uint32_t b = 0x80; b < 0x7f80; ++b) {  // normal values; the last rounds up to infinity
    const uint32_t middle = b << 16 | 0x8000u;
    const uint32_t even = b + (b & 1);
    ASSERT_EQ(bf16_from_f32(std::bit_cast<float>(middle)), even) << b;
    ASSERT_EQ(bf16_from_f32(std::bit_cast<float>(middle - 1)), b) << b;
    ASSERT_EQ(bf16_from_f32(std::bit_cast<float>(middle + 1)), b + 1) << b;
    ASSERT_EQ(bf16_from_f32(std::bit_cast<float>(middle | 0x80000000u)), even | 0x8000) << b;
  }
}

TEST(BF16, ANaNWhosePayloadIsCutOffStaysANaN) {
  EXPECT_EQ(bf16_from_f32(std::bit_cast<float>(0x7f800001u)), 0x7fc0);
  EXPECT_EQ(bf16_from_f32(std::bit_cast<float>(0xff80ffffu)), 0xffc0);
}

}  // namespace
}  // namespace lockstep
