#include "sched/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kv/testing/tokens.h"

namespace lockstep::sched {
namespace {

using kv::testing::tokens_of;

constexpr LayerGroup kFullGroup{};

// A scheduler over one pool of full pages, with an engine's verbs.
class SchedulerTest : public ::testing::Test {
 protected:
  void SetUp() override { start({.max_rows = 64, .max_logit_rows = 8, .max_sequences = 8}, 64); }
  void TearDown() override {
    const Status status = pool_->check_integrity();
    EXPECT_TRUE(status.ok()) << message_of(status);
  }

  void start(Limits limits, int pages) {
    scheduler_.reset();
    StateLayout layout;
    layout.groups = {kFullGroup};
    pool_.emplace(layout, std::span(&pages, 1));
    scheduler_.emplace(limits, *pool_);
  }

  SequenceRequest request(int prompt, int reply = 100) {
    return {.prompt = tokens_of(prompt, next_seed_++),
            .max_positions = prompt + reply,
            .deadline = {},
            .cache_salt = ""};
  }
  SequenceId add(SequenceRequest request) { return scheduler_->add(std::move(request)).value(); }
  SequenceId add(int prompt, int reply = 100) { return add(request(prompt, reply)); }

  // One step in which every sequence that was drawn from gets a token.
  Plan step(Time now = {}) {
    Plan plan = scheduler_->plan(now);
    scheduler_->apply(plan);
    for (const Work& work : plan.work) {
      const Sequence& sequence = *scheduler_->find(work.sequence);
      if (sequence.remaining() == 0) scheduler_->push(work.sequence, tokens_of(1)[0]);
    }
    return plan;
  }
  static int rows_of(const Plan& plan, SequenceId id) {
    const auto found = std::ranges::find(plan.work, id, &Work::sequence);
    return found == plan.work.end() ? 0 : found->count;
  }

  std::optional<kv::Pool> pool_;
  std::optional<Scheduler> scheduler_;
  uint64_t next_seed_ = 1;
};

TEST_F(SchedulerTest, PromptIsReadInChunksAndThenOneRowAStep) {
  const SequenceId id = add(150);
  EXPECT_EQ(rows_of(step(), id), 64);
  EXPECT_EQ(rows_of(step(), id), 64);
  const Plan last = step();
  ASSERT_EQ(last.work.size(), 1u);
  EXPECT_EQ(last.work[0].first, 128);
  EXPECT_EQ(last.work[0].count, 22);
  EXPECT_EQ(last.work[0].logits_from, 149);
  EXPECT_EQ(rows_of(step(), id), 1);
}

TEST_F(SchedulerTest, RepliesGetTheirRowsWhileALongPromptIsRead) {
  start({.max_rows = 64, .max_logit_rows = 8, .max_sequences = 8, .prompt_rows_beside_replies = 16},
        64);
  const SequenceId reply = add(5);
  step();
  const SequenceId prompt = add(1000);
  for (int i = 0; i < 10; ++i) {
    const Plan plan = step();
    EXPECT_EQ(rows_of(plan, reply), 1);
    EXPECT_EQ(rows_of(plan, prompt), 16);
  }
}

TEST_F(SchedulerTest, ShortPromptDoesNotWaitForALongOneNorTheOtherWayRound) {
  const SequenceId long_prompt = add(1000);
  step();
  const SequenceId short_prompt = add(20);
  const Plan plan = step();
  EXPECT_EQ(rows_of(plan, short_prompt), 20);
  EXPECT_EQ(rows_of(plan, long_prompt), 44);
  for (int i = 0; i < 5; ++i) {
    add(40);
    EXPECT_GE(rows_of(step(), long_prompt), 8);
  }
}

TEST_F(SchedulerTest, HigherPriorityStartsFirst) {
  start({.max_rows = 64, .max_logit_rows = 1, .max_sequences = 1}, 64);
  const SequenceId low = add(10);
  SequenceRequest urgent = request(10);
  urgent.priority = 1;
  const SequenceId high = add(urgent);
  EXPECT_EQ(rows_of(step(), high), 10);
  scheduler_->finish(high);
  EXPECT_EQ(rows_of(step(), low), 10);
}

TEST_F(SchedulerTest, LastInRankGivesItsPagesToTheFirstAndComesBack) {
  start({.max_rows = 64, .max_logit_rows = 8, .max_sequences = 8}, 4);
  const SequenceId first = add(32, 90);
  const SequenceId second = add(32, 90);
  step();
  size_t preempted = 0;
  while (scheduler_->find(first)->known() < 120) preempted += step().preempted.size();
  EXPECT_GE(preempted, 1u);
  EXPECT_FALSE(scheduler_->find(second)->is_running());
  scheduler_->finish(first);
  EXPECT_GE(rows_of(step(), second), 1);
  EXPECT_EQ(scheduler_->find(second)->remaining(), 1);
}

TEST_F(SchedulerTest, PausedSequenceGetsNoRowsAndKeepsItsPages) {
  const SequenceId id = add(10);
  step();
  scheduler_->set_paused(id, true);
  EXPECT_EQ(rows_of(step(), id), 0);
  EXPECT_TRUE(scheduler_->find(id)->is_running());
  scheduler_->set_paused(id, false);
  EXPECT_EQ(rows_of(step(), id), 1);
}

TEST_F(SchedulerTest, PausedSequenceIsTheFirstToGiveItsPages) {
  start({.max_rows = 64, .max_logit_rows = 8, .max_sequences = 8}, 4);
  const SequenceId first = add(60, 60);
  const SequenceId second = add(30, 90);
  step();
  step();
  scheduler_->set_paused(first, true);
  while (scheduler_->find(second)->known() < 100) step();
  EXPECT_FALSE(scheduler_->find(first)->is_running());
}

TEST_F(SchedulerTest, TooManyWaitingRequestsAreTurnedAway) {
  start({.max_rows = 64, .max_logit_rows = 1, .max_sequences = 1, .max_waiting = 2}, 64);
  add(10);
  add(10);
  const auto third = scheduler_->add(request(10));
  EXPECT_EQ(third.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(message_of(third.status()), "2 requests are waiting, which is the most allowed");
}

TEST_F(SchedulerTest, RequestThatCanNeverFitIsRefusedWithWhatWould) {
  const auto id = scheduler_->add(request(10, 64 * kPagePositions));
  EXPECT_EQ(message_of(id.status()),
            "a request of 2058 positions can never fit; the K/V pages hold 2048");
  EXPECT_TRUE(scheduler_->add(request(10, 64 * kPagePositions - 10)).ok());
}

TEST_F(SchedulerTest, DeadlineEndsASequenceInEveryState) {
  const Time start;
  const Time late = start + std::chrono::seconds(2);
  SequenceRequest timed = request(200);
  timed.deadline = start + std::chrono::seconds(1);
  const SequenceId running = add(timed);
  step(start);
  const SequenceId waiting = add(timed);
  EXPECT_THAT(step(late).expired, ::testing::ElementsAre(running, waiting));
  EXPECT_TRUE(scheduler_->is_idle());
}

TEST_F(SchedulerTest, ForksShareThePromptAndGoOnAlone) {
  SequenceRequest pair = request(40);
  pair.choices = 3;
  const SequenceId id = add(pair);
  const Plan plan = scheduler_->plan({});
  ASSERT_EQ(plan.work.size(), 1u);
  EXPECT_EQ(plan.work[0].choices, 3);
  scheduler_->apply(plan);
  const SequenceId second = scheduler_->fork(id);
  const SequenceId third = scheduler_->fork(id);
  EXPECT_EQ(pool_->pages(0).free_pages(), 62);
  for (const SequenceId each : {id, second, third}) scheduler_->push(each, tokens_of(1)[0]);
  const Plan next = step();
  EXPECT_EQ(next.work.size(), 3u);
  EXPECT_EQ(next.copies.size(), 2u);  // the last one writes where it is
}

TEST_F(SchedulerTest, LogitsOfAWholePromptKeepToTheirBudgetAndAreHadOnce) {
  SequenceRequest echo = request(30);
  echo.logits_from = 0;
  const SequenceId id = add(echo);
  int rows = 0;
  while (scheduler_->find(id)->known() == 30) {
    const Plan plan = step();
    const int got = plan.work[0].first + plan.work[0].count - plan.work[0].logits_from;
    EXPECT_LE(got, 8);
    rows += got;
  }
  EXPECT_EQ(rows, 30);
}

TEST_F(SchedulerTest, SecondRequestFindsWhatTheFirstComputed) {
  const std::vector<TokenId> prompt = tokens_of(100);
  SequenceRequest same = request(1);
  same.prompt = prompt;
  same.max_positions = 200;
  const SequenceId first = add(same);
  while (scheduler_->find(first)->remaining() > 1 || scheduler_->find(first)->known() == 100)
    step();
  const SequenceId second = add(same);
  const Plan plan = step();
  EXPECT_EQ(rows_of(plan, second), 100 - 96);
}

}  // namespace
}  // namespace lockstep::sched
