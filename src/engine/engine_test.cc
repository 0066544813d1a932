// No request can tell how it was served: each is compared with itself alone, tokens and the digest
// of every row of logits.
#include "engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/rng.h"
#include "device/testing/row_count_device.h"
#include "engine/testing/golden.h"
#include "engine/testing/serving.h"

namespace lockstep::engine {
namespace {

using testing::fields_of;
using testing::made_prompt;
using testing::Serving;

// One with full attention, one with windows.
class EngineTest : public ::testing::TestWithParam<const char*> {
 protected:
  model::Model& model() { return *loaded_.model; }
  std::vector<TokenId> prompt(int count, uint64_t seed = 0) {
    return made_prompt(model(), count, seed);
  }
  std::unique_ptr<Serving> serve(const Serving::Options& options = {}) {
    return std::make_unique<Serving>(model(), *loaded_.device, options);
  }
  Reply alone(const RequestFields& fields) { return serve()->reply(fields); }

  // Requests of many lengths, half of them sampled.
  std::vector<RequestFields> mixed_requests(int count) {
    std::vector<RequestFields> out;
    for (int i = 0; i < count; ++i) {
      const auto seed = static_cast<uint64_t>(i);
      out.push_back(fields_of(prompt(1 + i * 37 % 120, seed), 4 + i * 7 % 20,
                              i % 2 == 0 ? std::nullopt : std::optional(seed)));
    }
    return out;
  }
  void expect_served_as_alone(Serving& serving, const std::vector<RequestFields>& requests) {
    std::vector<std::shared_ptr<Stream>> streams;
    for (const RequestFields& request : requests) streams.push_back(serving.start(request));
    serving.run();
    for (size_t i = 0; i < requests.size(); ++i) {
      EXPECT_TRUE(same_bytes(Serving::replies(*streams[i]).at(0), alone(requests[i]))) << i;
    }
  }

  testing::Loaded loaded_ = testing::load(
      testing::golden_path(GetParam()),
      testing::make(testing::device_kinds().back(), testing::profile_of(Arithmetic::kBF16)));
};

TEST_P(EngineTest, SixtyFourAtOnceAreServedAsAlone) {
  const auto serving = serve();
  expect_served_as_alone(*serving, mixed_requests(64));
}

TEST_P(EngineTest, OnePromptInManySlotsGivesOneAnswer) {
  const RequestFields request = fields_of(prompt(50), 20);
  const Reply expected = alone(request);
  for (const int slots : {8, 64}) {
    const auto serving = serve();
    std::vector<std::shared_ptr<Stream>> streams;
    for (int i = 0; i < slots; ++i) streams.push_back(serving->start(request));
    serving->run();
    for (const auto& stream : streams) {
      EXPECT_TRUE(same_bytes(Serving::replies(*stream).at(0), expected));
    }
  }
}

TEST_P(EngineTest, FiveRepeatsUnderChurnAgree) {
  const RequestFields request = fields_of(prompt(70, 5), 30, 11);
  const Reply expected = alone(request);
  const auto serving = serve();
  const std::vector<RequestFields> others = mixed_requests(50);
  for (int repeat = 0; repeat < 5; ++repeat) {
    std::vector<std::shared_ptr<Stream>> streams;
    for (const RequestFields& other : others) {
      RequestFields longer = other;
      longer.max_tokens = 40 + repeat;
      streams.push_back(serving->start(longer));
    }
    for (int i = 0; i < 20; ++i) serving->engine().step();
    const auto stream = serving->start(request);
    for (int i = 0; i < 3; ++i) serving->engine().step();
    EXPECT_GE(serving->engine().status().running, 44);
    for (size_t i = 0; i < streams.size(); i += 3) streams[i]->cancel();
    serving->run();
    EXPECT_TRUE(same_bytes(Serving::replies(*stream).at(0), expected)) << repeat;
  }
}

TEST_P(EngineTest, ColdWarmAndWarmAtEveryOffsetAgree) {
  const auto serving = serve();
  for (int length = 60; length <= 60 + kPagePositions; ++length) {
    const RequestFields request = fields_of(prompt(length, 3), 6);
    const Reply expected = alone(request);
    EXPECT_TRUE(same_bytes(serving->reply(request), expected)) << length;
    const auto warm = serving->start(request);
    serving->run();
    EXPECT_GT(warm->usage().cached_tokens, 0);
    EXPECT_TRUE(same_bytes(Serving::replies(*warm).at(0), expected)) << length;
  }
}

TEST_P(EngineTest, PreemptionIsInvisible) {
  const auto serving = serve({.max_positions = 200, .kv_pages = 9});
  std::vector<RequestFields> requests;
  for (uint64_t i = 0; i < 6; ++i) {
    requests.push_back(fields_of(prompt(30, i), 60, i % 2 == 0 ? std::nullopt : std::optional(i)));
  }
  expect_served_as_alone(*serving, requests);
  EXPECT_GT(serving->engine().status().preemptions, 0);
}

TEST_P(EngineTest, TwoLongChatsPastTheCacheNeverSeeEachOther) {
  const auto serving = serve({.kv_pages = 12});
  std::vector<TokenId> chats[2] = {prompt(40, 1), prompt(40, 2)};
  for (int turn = 0; turn < 6; ++turn) {
    for (auto& chat : chats) {
      const RequestFields request = fields_of(chat, 12);
      const Reply reply = serving->reply(request);
      EXPECT_TRUE(same_bytes(reply, alone(request))) << turn;
      chat.insert(chat.end(), reply.tokens.begin(), reply.tokens.end());
      const auto next = prompt(20, static_cast<uint64_t>(turn) + chat.size());
      chat.insert(chat.end(), next.begin(), next.end());
    }
  }
}

TEST_P(EngineTest, ChunksDoNotMatter) {
  const RequestFields request = fields_of(prompt(130, 8), 10, 4);
  const Reply expected = alone(request);
  for (const int rows : {1, 7, 31, 32, 33, 64}) {
    const auto serving =
        serve({.limits = {.max_rows = rows, .max_logit_rows = 1, .max_sequences = 1}});
    EXPECT_TRUE(same_bytes(serving->reply(request), expected)) << rows;
  }
}

TEST_P(EngineTest, ChoicesDifferWhenSampledAndEqualSeparateRequests) {
  RequestFields pair = fields_of(prompt(45, 9), 12, 77);
  pair.choices = 3;
  const auto serving = serve();
  const auto stream = serving->start(pair);
  serving->run();
  const std::vector<Reply> replies = Serving::replies(*stream);
  ASSERT_EQ(replies.size(), 3u);
  EXPECT_NE(replies[0].tokens, replies[1].tokens);
  for (int i = 0; i < 3; ++i) {
    const RequestFields one = fields_of(prompt(45, 9), 12, choice_seed(77, i));
    EXPECT_TRUE(same_bytes(replies[static_cast<size_t>(i)], alone(one))) << i;
  }
}

TEST_P(EngineTest, PromptLogprobsDoNotDependOnTheOrderOfRequests) {
  std::vector<RequestFields> requests;
  for (uint64_t i = 0; i < 5; ++i) {
    requests.push_back(fields_of(prompt(20 + 15 * static_cast<int>(i), i), 2));
    requests.back().prompt_logprobs = true;
    requests.back().logprobs = 2;
  }
  const auto scores = [&](bool reversed) {
    const auto serving = serve();
    std::vector<std::shared_ptr<Stream>> streams(requests.size());
    for (size_t n = 0; n < requests.size(); ++n) {
      const size_t i = reversed ? requests.size() - 1 - n : n;
      streams[i] = serving->start(requests[i]);
    }
    serving->run();
    std::vector<float> out;
    for (const auto& stream : streams) {
      const Reply reply = Serving::replies(*stream).at(0);
      for (const LogprobEntry& entry : reply.prompt_logprobs) out.push_back(entry.token.logprob);
    }
    return out;
  };
  const std::vector<float> forward = scores(false);
  EXPECT_EQ(forward.size(), 20u + 35 + 50 + 65 + 80 - 5);
  EXPECT_EQ(forward, scores(true));
}

TEST_P(EngineTest, ThousandAbortsReturnEveryPage) {
  const auto serving = serve({.kv_pages = 60});
  std::vector<std::shared_ptr<Stream>> streams;
  CounterRng rng(3);
  for (int i = 0; i < 1000; ++i) {
    RequestFields request =
        fields_of(prompt(1 + static_cast<int>(rng.below(90)), rng.below(5)), 20);
    if (i % 10 == 0) request.choices = 2;
    if (auto stream = serving->submit(request); stream.ok()) streams.push_back(*stream);
    if (rng.below(3) == 0) serving->engine().step();
    streams[rng.below(static_cast<uint32_t>(streams.size()))]->cancel();
  }
  for (const auto& stream : streams) stream->cancel();
  serving->run();
  for (const auto& stream : streams) {
    while (stream->try_next()) {
    }
    EXPECT_TRUE(stream->is_done());
  }
  serving->engine().clear_prefixes();
  EXPECT_EQ(serving->engine().free_pages(), serving->engine().pages());
}

TEST_P(EngineTest, OneRequestOverTheContextFailsAlone) {
  const auto serving = serve();
  const RequestFields good = fields_of(prompt(40), 10);
  const auto first = serving->start(good);
  const auto refused = serving->submit(fields_of(prompt(301), 10));
  EXPECT_EQ(message_of(refused.status()), "a prompt of 301 tokens does not fit a context of 300");
  const auto second = serving->start(good);
  serving->run();
  EXPECT_TRUE(same_bytes(Serving::replies(*first).at(0), alone(good)));
  EXPECT_TRUE(same_bytes(Serving::replies(*second).at(0), alone(good)));
}

TEST_P(EngineTest, SlowReaderPausesItsOwnRequestAlone) {
  const auto serving = serve({.stream_events = 8});
  const RequestFields request = fields_of(prompt(10), 40);
  const auto slow = serving->start(request);
  const auto quick = serving->start(request);
  Reply got;
  for (int i = 0; i < 60; ++i) {
    serving->engine().step();
    while (const auto event = quick->try_next()) {
      if (event->token.has_value()) got.tokens.push_back(*event->token);
    }
  }
  EXPECT_TRUE(quick->is_done());
  EXPECT_EQ(got.tokens.size(), 40u);
  EXPECT_FALSE(serving->engine().step());  // the slow one waits for its reader
  std::vector<TokenId> late;
  while (!slow->is_done()) {
    serving->engine().step();
    while (const auto event = slow->try_next()) {
      if (event->token.has_value()) late.push_back(*event->token);
    }
  }
  EXPECT_EQ(late, got.tokens);
}

TEST_P(EngineTest, DeadlineAndCancelEndARequestInEveryState) {
  const auto serving = serve({.limits = {.max_rows = 16, .max_logit_rows = 1, .max_sequences = 1}});
  RequestFields late = fields_of(prompt(20), 5);
  late.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  const auto running = serving->start(fields_of(prompt(100), 50));
  const auto waiting = serving->start(fields_of(prompt(20), 5));
  const auto expired = serving->start(late);
  serving->engine().step();
  waiting->cancel();
  serving->engine().step();
  EXPECT_EQ(Serving::replies(*waiting).at(0).finish, FinishReason::kCancelled);
  EXPECT_EQ(Serving::replies(*expired).at(0).finish, FinishReason::kDeadline);
  running->cancel();
  serving->run();
  EXPECT_EQ(Serving::replies(*running).at(0).finish, FinishReason::kCancelled);
}

TEST_P(EngineTest, TooManyWaitingRequestsAreBusy) {
  const auto serving = serve(
      {.limits = {.max_rows = 16, .max_logit_rows = 1, .max_sequences = 1, .max_waiting = 2}});
  const RequestFields request = fields_of(prompt(5), 2);
  const auto first = serving->start(request);
  const auto second = serving->start(request);
  const auto third = serving->submit(request);
  EXPECT_EQ(third.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(message_of(third.status()), ::testing::HasSubstr("busy"));
  serving->run();
  EXPECT_TRUE(serving->submit(request).ok());
  serving->run();
}

TEST_P(EngineTest, EchoAloneHasEveryPromptLogprobAndNoToken) {
  RequestFields echo = fields_of(prompt(50), 0);
  echo.prompt_logprobs = true;
  const Reply reply = serve()->reply(echo);
  EXPECT_TRUE(reply.tokens.empty());
  EXPECT_EQ(reply.prompt_logprobs.size(), 49u);
  EXPECT_EQ(reply.finish, FinishReason::kLength);
}

TEST_P(EngineTest, GreedyTokenIsTheLikeliest) {
  RequestFields request = fields_of(prompt(30), 8);
  request.logprobs = 3;
  const Reply reply = serve()->reply(request);
  ASSERT_EQ(reply.logprobs.size(), 8u);
  for (size_t i = 0; i < 8; ++i) {
    ASSERT_EQ(reply.logprobs[i].top.size(), 3u);
    EXPECT_EQ(reply.logprobs[i].top[0].token, reply.tokens[i]);
    EXPECT_EQ(reply.logprobs[i].top[0].logprob, reply.logprobs[i].token.logprob);
    EXPECT_GE(reply.logprobs[i].top[0].logprob, reply.logprobs[i].top[1].logprob);
  }
}

TEST_P(EngineTest, StopIdsDoNotCountBeforeMinTokens) {
  const Reply free = alone(fields_of(prompt(30), 8));
  RequestFields request = fields_of(prompt(30), 8);
  request.stop_ids = {free.tokens[0]};
  EXPECT_EQ(serve()->reply(request).tokens.size(), 1u);
  request.min_tokens = 5;
  const Reply later = serve()->reply(request);
  EXPECT_GE(later.tokens.size(), 5u);
  for (size_t i = 0; i + 1 < 5; ++i) EXPECT_NE(later.tokens[i], free.tokens[0]);
}

TEST_P(EngineTest, AllowedIdsAreTheOnlyOnesDrawn) {
  RequestFields request = fields_of(prompt(30), 12, 3);
  request.allowed = prompt(4, 99);
  for (const TokenId token : serve()->reply(request).tokens) {
    EXPECT_THAT(*request.allowed, ::testing::Contains(token));
  }
}

TEST_P(EngineTest, PresencePenaltyOfOneTokenAtATimeForbidsRepeats) {
  RequestFields request = fields_of(prompt(30), 20);
  request.allowed = prompt(40, 98);
  request.biases = {{.token = request.allowed->front(), .bias = 100.0f}};
  const Reply biased = serve()->reply(request);
  EXPECT_THAT(biased.tokens, ::testing::Each(request.allowed->front()));
  request.biases = {};
  request.presence_penalty = 2.0;
  request.frequency_penalty = 2.0;
  const Reply varied = serve()->reply(request);
  EXPECT_GT(std::set<int>([&] {
              std::set<int> ids;
              for (const TokenId token : varied.tokens) ids.insert(token.value());
              return ids;
            }())
                .size(),
            4u);
}

INSTANTIATE_TEST_SUITE_P(Families, EngineTest, ::testing::Values("llama", "gemma3"));

// The same checks must find out a device whose bits follow the row count.
TEST(EngineControl, DeviceWhoseBitsFollowTheRowCountIsFoundOut) {
  const auto inner =
      testing::make(testing::device_kinds().back(), testing::profile_of(Arithmetic::kBF16));
  testing::Loaded loaded = testing::load(
      testing::golden_path("llama"), std::make_unique<device::contract::RowCountDevice>(*inner));
  const RequestFields request = fields_of(made_prompt(*loaded.model, 12), 10);
  const Reply alone = Serving(*loaded.model, *loaded.device, {}).reply(request);
  Serving serving(*loaded.model, *loaded.device, {});
  std::vector<std::shared_ptr<Stream>> streams;
  for (int i = 0; i < 24; ++i) streams.push_back(serving.start(request));
  serving.run();
  bool differs = false;
  for (const auto& stream : streams) differs |= !same_bytes(Serving::replies(*stream).at(0), alone);
  EXPECT_TRUE(differs);
}

}  // namespace
}  // namespace lockstep::engine
