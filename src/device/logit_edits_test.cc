#include "device/logit_edits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/thread_pool.h"
#include "device/logprobs.h"
#include "device/sampler.h"

namespace lockstep::device {
namespace {

const Vocabulary kVocabulary = Vocabulary::create(4).value();
TokenId id(int64_t value) { return kVocabulary.admit(value).value(); }

std::vector<float> edited(const LogitEdits& edits, std::vector<float> logits) {
  apply_edits(edits, logits);
  return logits;
}

TEST(LogitEdits, RepetitionPenaltyMovesEveryUsedTokenTowardsUnlikely) {
  const TokenUse used[] = {{id(0), 0}, {id(1), 2}};
  LogitEdits edits;
  edits.repetition = 2.0f;
  edits.used = used;
  EXPECT_EQ(edited(edits, {3, -3, 3, -3}), (std::vector<float>{1.5f, -6, 3, -3}));
}

TEST(LogitEdits, FrequencyAndPresenceCountTheReplyAlone) {
  const TokenUse used[] = {{id(0), 0}, {id(1), 2}};
  LogitEdits edits;
  edits.frequency = 0.5f;
  edits.presence = 0.25f;
  edits.used = used;
  EXPECT_EQ(edited(edits, {1, 1, 1, 1}), (std::vector<float>{1, -0.25f, 1, 1}));
}

TEST(LogitEdits, BiasComesAfterPenaltiesAndBansLast) {
  const TokenUse used[] = {{id(0), 1}};
  const TokenBias biases[] = {{id(0), 1.0f}, {id(1), 5.0f}};
  const TokenId banned[] = {id(1)};
  LogitEdits edits;
  edits.repetition = 2.0f;
  edits.used = used;
  edits.biases = biases;
  edits.banned = banned;
  const auto logits = edited(edits, {4, 4, 4, 4});
  EXPECT_EQ(logits[0], 3.0f);
  EXPECT_TRUE(std::isnan(logits[1]));
}

TEST(LogitEdits, DrawLeavesTheRowAlone) {
  const ComputeScope scope;
  const std::vector<float> logits = {4, 3, 2, 1};
  const TokenId banned[] = {id(0)};
  RowSampling sampling;
  sampling.edits.banned = banned;
  EXPECT_EQ(sample_row(logits, sampling, 0), id(1));
  EXPECT_EQ(logits[0], 4.0f);
}

TEST(LogitEdits, OnlyAllowedIdsAreDrawnWhateverTheLogits) {
  const ComputeScope scope;
  const float nan = std::nanf("");
  const TokenId ids[] = {id(2), id(3)};
  const TokenSet allowed(kVocabulary, ids);
  RowSampling sampling;
  sampling.edits.allowed = &allowed;
  EXPECT_EQ(sample_row(std::vector<float>{9, 8, 1, 2}, sampling, 0), id(3));
  EXPECT_EQ(sample_row(std::vector<float>{9, 8, nan, nan}, sampling, 0), id(2));
  const TokenId banned[] = {id(2)};
  sampling.edits.banned = banned;
  EXPECT_EQ(sample_row(std::vector<float>{9, 8, nan, nan}, sampling, 0), id(3));
}

TEST(RowLogprobs, AreThoseOfTheSoftmax) {
  const ComputeScope scope;
  const std::vector<float> logits = {1.0f, 2.0f, 3.0f, 2.0f};
  const RowLogprobs logprobs(logits);
  double sum = 0;
  for (const float x : logits) sum += std::exp(static_cast<double>(x));
  for (int i = 0; i < 4; ++i) {
    EXPECT_NEAR(logprobs.of(id(i)), logits[static_cast<size_t>(i)] - std::log(sum), 1e-6);
  }
}

TEST(RowLogprobs, TopIsInOrderWithTiesToTheLowestId) {
  const ComputeScope scope;
  const std::vector<float> logits = {1.0f, 2.0f, std::nanf(""), 2.0f};
  const auto top = RowLogprobs(logits).top(10);
  ASSERT_EQ(top.size(), 3u);
  EXPECT_EQ(top[0].token, id(1));
  EXPECT_EQ(top[1].token, id(3));
  EXPECT_EQ(top[2].token, id(0));
}

TEST(RowLogprobs, InfinitiesAndNanAreNotSpread) {
  const ComputeScope scope;
  const float nan = std::nanf("");
  const std::vector<float> with_infinity = {INFINITY, 0.0f, -INFINITY, nan};
  const RowLogprobs logprobs(with_infinity);
  EXPECT_EQ(logprobs.of(id(0)), 0.0f);
  EXPECT_EQ(logprobs.of(id(1)), -INFINITY);
  EXPECT_EQ(logprobs.of(id(3)), -INFINITY);
  const std::vector<float> broken(4, nan);
  EXPECT_EQ(RowLogprobs(broken).of(id(0)), -INFINITY);
  EXPECT_TRUE(RowLogprobs(broken).top(2).empty());
}

}  // namespace
}  // namespace lockstep::device
