#include "base/sampling.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockstep {
namespace {

constexpr double kNaN = NAN;
constexpr double kInfinity = INFINITY;

// Whether create accepts the defaults with one field changed.
template <class T>
bool accepts(T SamplingFields::*field, T value) {
  SamplingFields fields;
  fields.*field = value;
  return SamplingParams::create(fields).ok();
}

TEST(SamplingParams, DefaultIsGreedy) {
  const auto params = SamplingParams::create({});
  ASSERT_TRUE(params.ok());
  EXPECT_EQ(params->temperature(), 0.0f);
  EXPECT_EQ(params->top_k(), 0);
  EXPECT_EQ(params->top_p(), 1.0f);
  EXPECT_EQ(params->min_p(), 0.0f);
}

TEST(SamplingParams, TemperatureIsZeroOrInItsRange) {
  for (const double t : {0.0, -0.0, 1e-3, 1.0, 100.0}) {
    EXPECT_TRUE(accepts(&SamplingFields::temperature, t)) << t;
  }
  for (const double t : {kNaN, kInfinity, -kInfinity, -1.0, 1e-4, 100.1, 1e308}) {
    EXPECT_FALSE(accepts(&SamplingFields::temperature, t)) << t;
  }
}

TEST(SamplingParams, TopKTakesBothSpellingsOfOff) {
  for (const int64_t k : {-1, 0, 1, INT32_MAX}) {
    EXPECT_TRUE(accepts(&SamplingFields::top_k, k)) << k;
  }
  for (const int64_t k : {int64_t{-2}, int64_t{1} << 31, int64_t{1} << 40, INT64_MIN}) {
    EXPECT_FALSE(accepts(&SamplingFields::top_k, k)) << k;
  }
  SamplingFields fields;
  fields.top_k = -1;
  EXPECT_EQ(SamplingParams::create(fields)->top_k(), 0);
}

TEST(SamplingParams, ProbabilitiesAreInTheirRanges) {
  for (const double p : {1e-9, 0.5, 1.0}) EXPECT_TRUE(accepts(&SamplingFields::top_p, p)) << p;
  for (const double p : {kNaN, 0.0, -0.1, 1.1, 1e308, kInfinity}) {
    EXPECT_FALSE(accepts(&SamplingFields::top_p, p)) << p;
  }
  for (const double p : {0.0, 0.5, 1.0}) EXPECT_TRUE(accepts(&SamplingFields::min_p, p)) << p;
  for (const double p : {kNaN, -0.1, 1.1, -kInfinity}) {
    EXPECT_FALSE(accepts(&SamplingFields::min_p, p)) << p;
  }
}

TEST(SamplingParams, ErrorNamesTheFieldAndItsRange) {
  SamplingFields fields;
  fields.top_p = 2.0;
  EXPECT_EQ(message_of(SamplingParams::create(fields).status()),
            "top_p 2 is outside (0, 1] (1: off)");
}

}  // namespace
}  // namespace lockstep
