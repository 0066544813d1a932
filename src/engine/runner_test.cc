#include "engine/runner.h"

#include <gtest/gtest.h>

#include "engine/testing/golden.h"
#include "engine/testing/loaded.h"
#include "formats/testing/refusal.h"

namespace lockstep::engine {
namespace {

using formats::expect_refused;

class RunnerTest : public ::testing::Test {
 protected:
  static constexpr int kContext = 40;

  RunnerTest() { runner_ = runner({.max_positions = kContext, .chunk_rows = 4}).value(); }
  StatusOr<std::unique_ptr<Runner>> runner(const RunnerOptions& options) {
    return Runner::create(*loaded_.model, *loaded_.device, options);
  }
  std::vector<TokenId> prompt(int64_t tokens) const {
    std::vector<int64_t> ids;
    ids.reserve(static_cast<size_t>(tokens));
    for (int64_t i = 0; i < tokens; ++i) ids.push_back(i * 31 % 384);
    return loaded_.model->vocabulary().admit_all(ids).value();
  }
  Generation generate(int64_t prompt_tokens, const GenerateRequest& request,
                      const Runner::OnToken& on_token = {}) {
    return runner_->generate(prompt(prompt_tokens), request, on_token).value();
  }
  static GenerateRequest tokens(int count) {
    GenerateRequest request;
    request.max_tokens = count;
    request.digest = true;
    return request;
  }

  testing::Loaded loaded_ = testing::load(
      testing::golden_path("llama"), testing::make({.name = "reference", .isa = "", .threads = 1},
                                                   testing::profile_of(Arithmetic::kF32)));
  std::unique_ptr<Runner> runner_;
};

TEST_F(RunnerTest, ReplyEndsAtItsLength) {
  const Generation reply = generate(9, tokens(5));
  EXPECT_EQ(reply.tokens.size(), 5u);
  EXPECT_EQ(reply.finish, FinishReason::kLength);
}

TEST_F(RunnerTest, StopIdEndsTheReplyAndIsPartOfIt) {
  const Generation free = generate(9, tokens(5));
  GenerateRequest request = tokens(5);
  request.stop_ids = {free.tokens[2]};
  const Generation stopped = generate(9, request);
  EXPECT_EQ(stopped.tokens, std::vector<TokenId>(free.tokens.begin(), free.tokens.begin() + 3));
  EXPECT_EQ(stopped.finish, FinishReason::kStop);
}

TEST_F(RunnerTest, ReplyEndsWhereTheContextDoes) {
  const Generation reply = generate(kContext - 2, tokens(10));
  EXPECT_EQ(reply.tokens.size(), 3u);  // the last one needs no position of its own
  EXPECT_EQ(reply.finish, FinishReason::kContext);
}

TEST_F(RunnerTest, PromptThatFillsTheContextGetsOneToken) {
  const Generation reply = generate(kContext, tokens(10));
  EXPECT_EQ(reply.tokens.size(), 1u);
  EXPECT_EQ(reply.finish, FinishReason::kContext);
}

TEST_F(RunnerTest, WhatCannotBeServedIsRefusedWithNumbers) {
  expect_refused(runner_->generate({}, tokens(1)), "empty");
  expect_refused(runner_->generate(prompt(kContext + 1), tokens(1)), "41 tokens");
  expect_refused(runner_->generate(prompt(1), tokens(0)), "max_tokens 0");
  const auto ignore = [](int, std::span<const float>) { return ok_status(); };
  expect_refused(runner_->score(prompt(kContext + 1), ignore), "41 tokens");
}

TEST_F(RunnerTest, OptionsOutsideTheModelAreRefused) {
  expect_refused(runner({.max_positions = 0, .chunk_rows = 0}), "[1, 512]");
  expect_refused(runner({.max_positions = 513, .chunk_rows = 0}), "[1, 512]");
  expect_refused(runner({.max_positions = 1, .chunk_rows = 65}), "[1, 64]");
  expect_refused(runner({.max_positions = 1, .chunk_rows = -1}), "[1, 64]");
}

TEST_F(RunnerTest, CommonPrefixIsComputedOnce) {
  runner_ = runner({.max_positions = 100, .chunk_rows = 0}).value();
  EXPECT_EQ(generate(40, tokens(1)).reused_tokens, 0);
  EXPECT_EQ(generate(70, tokens(1)).reused_tokens, kPagePositions);
  EXPECT_EQ(generate(64, tokens(1)).reused_tokens, 32);  // the last one's logits are needed
  runner_->clear();
  EXPECT_EQ(generate(70, tokens(1)).reused_tokens, 0);
}

TEST_F(RunnerTest, ReplyCancelledBeforeItsPromptHasNoTokensAndLeavesNoTrace) {
  const Generation expected = generate(20, tokens(4));
  runner_->clear();
  std::atomic<bool> cancelled = true;
  GenerateRequest request = tokens(4);
  request.cancelled = &cancelled;
  const Generation none = generate(20, request);
  EXPECT_TRUE(none.tokens.empty());
  EXPECT_EQ(none.finish, FinishReason::kCancelled);
  cancelled = false;
  const Generation again = generate(20, request);
  EXPECT_EQ(again.tokens, expected.tokens);
  EXPECT_EQ(again.digest, expected.digest);
}

TEST_F(RunnerTest, CancelledReplyKeepsTheTokensItHad) {
  std::atomic<bool> cancelled = false;
  GenerateRequest request = tokens(10);
  request.cancelled = &cancelled;
  int seen = 0;
  const Generation reply = generate(5, request, [&](TokenId) { cancelled = ++seen == 3; });
  EXPECT_EQ(reply.tokens.size(), 3u);
  EXPECT_EQ(reply.finish, FinishReason::kCancelled);
}

TEST_F(RunnerTest, DigestTellsRepliesApart) {
  const std::string digest = generate(20, tokens(4)).digest;
  EXPECT_EQ(generate(20, tokens(4)).digest, digest);
  EXPECT_NE(generate(21, tokens(4)).digest, digest);
  EXPECT_NE(generate(20, tokens(5)).digest, digest);
}

TEST_F(RunnerTest, ErrorOfARowsReaderEndsTheScoring) {
  int rows = 0;
  const Status status = runner_->score(prompt(10), [&](int position, std::span<const float>) {
    ++rows;
    return position == 2 ? data_loss("the disk is full") : ok_status();
  });
  expect_refused(status, "the disk is full");
  EXPECT_EQ(rows, 3);
}

}  // namespace
}  // namespace lockstep::engine
