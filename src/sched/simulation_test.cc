// A hundred thousand requests come, are cancelled, pause, expire, fork and fault at random over a
// small pool. After every step every page is accounted for, every table leads to what was computed
// from its sequence's own tokens, and whoever is first in rank gets on.
#include <gtest/gtest.h>

#include <map>

#include "kv/testing/tokens.h"
#include "kv/window.h"
#include "sched/scheduler.h"

namespace lockstep::sched {
namespace {

using kv::testing::tokens_of;

constexpr int kGroups = 2;
constexpr int kPages[kGroups] = {24, 18};
const Limits kLimits{.max_rows = 96,
                     .max_logit_rows = 24,
                     .max_sequences = 12,
                     .max_waiting = 30,
                     .prompt_rows_beside_replies = 48};

StateLayout layout() {
  StateLayout out;
  out.groups = {LayerGroup{}, LayerGroup{.kind = StateKind::kWindow, .window = 70}};
  return out;
}

// A digest of tokens[0..i] for each i: what a device's state at position i depends on.
class Contents {
 public:
  static uint64_t next(uint64_t before, TokenId token) {
    return mix64(before * 31 + static_cast<uint64_t>(token.value()) + 1);
  }
  uint64_t& at(int group, PageId page, int slot) {
    return slots_[group][static_cast<size_t>(page.value)][static_cast<size_t>(slot)];
  }
  void copy(const PageCopy& copy) {
    for (int i = 0; i < kPagePositions; ++i) {
      at(copy.group, copy.to, i) = i < copy.positions ? at(copy.group, copy.from, i) : 0;
    }
  }

 private:
  using Page = std::array<uint64_t, kPagePositions>;
  std::vector<Page> slots_[kGroups] = {std::vector<Page>(kPages[0]), std::vector<Page>(kPages[1])};
};

class Simulation {
 public:
  explicit Simulation(uint64_t seed) : pool_(layout(), kPages), rng_(seed) {}

  void run(int arrivals) {
    while (arrived_ < arrivals || !scheduler_.is_idle()) {
      if (arrived_ < arrivals && one_in(4)) arrive();
      disturb();
      step();
      if (::testing::Test::HasFatalFailure()) return;
    }
  }

  int finished = 0;
  int turned_away = 0;
  int cancelled = 0;
  int expired = 0;
  int faulted = 0;
  int preempted = 0;
  int forked = 0;

 private:
  struct Live {
    int replies_left = 0;
    int steps_in_front = 0;  // as the first in rank, without a row
  };

  bool one_in(uint32_t n) { return rng_.below(n) == 0; }

  void arrive() {
    for (uint32_t i = rng_.below(3); i > 0; --i) {
      ++arrived_;
      // Few kinds of prompts, so that they share.
      const int prompt = 1 + static_cast<int>(one_in(10) ? rng_.below(500) : rng_.below(80));
      const int reply = 1 + static_cast<int>(rng_.below(150));
      SequenceRequest request{.prompt = tokens_of(prompt, rng_.below(6)),
                              .max_positions = prompt + reply,
                              .logits_from = one_in(20) ? 0 : -1,
                              .choices = one_in(20) ? 3 : 1,
                              .priority = one_in(10) ? 1 : 0,
                              .deadline = {},
                              .cache_salt = one_in(4) ? "salt" : ""};
      if (one_in(10)) request.deadline = now_ + std::chrono::seconds(rng_.below(200));
      const auto id = scheduler_.add(std::move(request));
      if (id.ok()) {
        live_[*id] = {.replies_left = reply};
      } else {
        ++turned_away;
      }
    }
  }

  void end(SequenceId id) {
    scheduler_.finish(id);
    live_.erase(id);
  }

  void disturb() {
    if (live_.empty()) return;
    auto one = live_.lower_bound(live_.begin()->first + rng_.below(60));
    if (one == live_.end()) one = live_.begin();
    if (one_in(20)) {
      end(one->first);
      ++cancelled;
    } else {
      scheduler_.set_paused(one->first, one_in(4));
    }
    if (one_in(500)) pool_.forget_prefixes();
  }

  void step() {
    now_ += std::chrono::seconds(1);
    const Plan plan = scheduler_.plan(now_);
    preempted += static_cast<int>(plan.preempted.size());
    for (const SequenceId id : plan.expired) {
      live_.erase(id);
      ++expired;
    }
    for (const PageCopy& copy : plan.copies) contents_.copy(copy);
    check_budget(plan);
    expect_front_gets_on(plan);
    for (const Work& work : plan.work) compute(work);
    if (one_in(200)) return fault(plan);
    scheduler_.apply(plan);
    for (const Work& work : plan.work) reply(work);
    check_contents();
    const Status status = pool_.check_integrity();
    ASSERT_TRUE(status.ok()) << message_of(status);
  }

  static void check_budget(const Plan& plan) {
    int rows = 0;
    int logit_rows = 0;
    std::set<SequenceId> seen;
    for (const Work& work : plan.work) {
      ASSERT_GT(work.count, 0);
      ASSERT_TRUE(seen.insert(work.sequence).second);
      rows += work.count;
      logit_rows += std::max(0, work.first + work.count - work.logits_from) + work.choices - 1;
    }
    ASSERT_LE(rows, kLimits.max_rows);
    ASSERT_LE(logit_rows, kLimits.max_logit_rows);
    ASSERT_LE(plan.work.size(), static_cast<size_t>(kLimits.max_sequences));
  }

  // The first in rank, once it runs, has rows in one of any four steps, unless it is paused.
  void expect_front_gets_on(const Plan& plan) {
    const Sequence* front = nullptr;
    for (const auto& [id, live] : live_) {
      const Sequence* sequence = scheduler_.find(id);
      if (sequence->is_paused()) continue;
      if (front == nullptr || sequence->priority() > front->priority()) front = sequence;
    }
    if (front == nullptr) return;
    Live& live = live_[front->id()];
    const bool got = std::ranges::find(plan.work, front->id(), &Work::sequence) != plan.work.end();
    live.steps_in_front = got ? 0 : live.steps_in_front + 1;
    if (front->is_running()) {
      ASSERT_LE(live.steps_in_front, 3);
    }
  }

  // As a device does it: each row reads every position that it may, and writes its own.
  void compute(const Work& work) {
    const Sequence& sequence = *scheduler_.find(work.sequence);
    ASSERT_EQ(sequence.computed(), work.first);
    const auto tables = sequence.pages().tables();
    for (int g = 0; g < kGroups; ++g) {
      uint64_t digest = 0;
      for (int p = 0; p < work.first + work.count; ++p) {
        digest = Contents::next(digest, sequence.tokens()[static_cast<size_t>(p)]);
        if (p < work.first) continue;
        const PageId page = tables[static_cast<size_t>(g)][static_cast<size_t>(p / kPagePositions)];
        contents_.at(g, page, p % kPagePositions) = digest;
      }
    }
  }

  void check_contents() {
    for (const auto& [id, live] : live_) {
      const Sequence& sequence = *scheduler_.find(id);
      if (!sequence.is_running()) continue;
      const auto tables = sequence.pages().tables();
      for (int g = 0; g < kGroups; ++g) {
        const int first =
            kv::first_page_read(layout().groups[static_cast<size_t>(g)], sequence.computed());
        uint64_t digest = 0;
        for (int p = 0; p < sequence.computed(); ++p) {
          digest = Contents::next(digest, sequence.tokens()[static_cast<size_t>(p)]);
          if (p < first * kPagePositions) continue;
          const PageId page =
              tables[static_cast<size_t>(g)][static_cast<size_t>(p / kPagePositions)];
          ASSERT_GE(page.value, 0);
          ASSERT_EQ(contents_.at(g, page, p % kPagePositions), digest) << "position " << p;
        }
      }
    }
  }

  void reply(const Work& work) {
    if (scheduler_.find(work.sequence)->remaining() > 0) return;
    std::vector<SequenceId> drawn{work.sequence};
    for (int i = 1; i < work.choices; ++i) {
      drawn.push_back(scheduler_.fork(work.sequence));
      live_[drawn.back()] = live_[work.sequence];
      ++forked;
    }
    for (const SequenceId id : drawn) {
      if (--live_[id].replies_left == 0) {
        ++finished;
        end(id);
      } else {
        scheduler_.push(id, tokens_of(1, rng_.below(3))[0]);
      }
    }
  }

  // A device fault ends whoever was in the step, and nobody else.
  void fault(const Plan& plan) {
    for (const Work& work : plan.work) {
      end(work.sequence);
      ++faulted;
    }
    const Status status = pool_.check_integrity();
    ASSERT_TRUE(status.ok()) << message_of(status);
  }

  kv::Pool pool_;
  Scheduler scheduler_{kLimits, pool_};
  Contents contents_;
  CounterRng rng_;
  Time now_;
  int arrived_ = 0;
  std::map<SequenceId, Live> live_;
};

TEST(Simulation, HundredThousandArrivalsLoseNoPageAndMixNoContents) {
  Simulation simulation(1);
  simulation.run(100000);
  // The disturbances did happen.
  EXPECT_GT(simulation.finished, 10000);
  EXPECT_GT(simulation.turned_away, 100);
  EXPECT_GT(simulation.cancelled, 1000);
  EXPECT_GT(simulation.expired, 100);
  EXPECT_GT(simulation.faulted, 100);
  EXPECT_GT(simulation.preempted, 1000);
  EXPECT_GT(simulation.forked, 100);
}

}  // namespace
}  // namespace lockstep::sched
