// Who computes what in the next step: pure decisions over sequences and pages. No device, no clock
// of its own, no I/O; the same calls give the same plans.
//
// Rules
// - Every reply (a sequence with one token to compute) gets its row in every step.
// - Prompts share the rows left, and at most `prompt_rows_beside_replies` while there are replies:
//   that bounds how long a reply waits. Half goes to the first in rank and half to the one with the
//   least left, so that neither a long prompt nor a short one is kept out by the other kind.
// - Waiting sequences start in rank order when a slot and pages for all their tokens are there.
// - When pages run out, the last in rank gives its own back and waits again; what it had computed
//   is computed once more later (or found in the prefix index), and no bit of its reply changes.
//   Who got no pages in one plan comes first in the next, so the first in rank always gets on.
// - A paused sequence keeps its pages while nobody else needs them, and gets no rows.
//
// Thread rule: the engine's thread. Ownership: owns its sequences; borrows the pool.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/status.h"
#include "kv/pool.h"
#include "sched/sequence.h"

namespace lockstep::sched {

struct Limits {
  int max_rows = 512;       // of a step
  int max_logit_rows = 64;  // of a step
  int max_sequences = 64;   // that run at once; at most max_rows and max_logit_rows
  int max_waiting = 1024;
  int prompt_rows_beside_replies = 256;
};

// Rows for positions [first, first + count) of one sequence.
struct Work {
  SequenceId sequence = 0;
  int first = 0;
  int count = 0;
  int logits_from = 0;  // rows from this position on reach the head; >= first + count: none
  int choices = 1;      // times that the last row's logits are drawn from
};

struct Plan {
  std::vector<Work> work;
  std::vector<PageCopy> copies;       // before the step
  std::vector<SequenceId> expired;    // past their deadline, and gone
  std::vector<SequenceId> preempted;  // gave their pages back, and wait again
};

class Scheduler {
 public:
  // REQUIRES limits that agree with each other.
  Scheduler(const Limits& limits, kv::Pool& pool);

  // resource_exhausted when too many wait; invalid_argument when it can never fit.
  StatusOr<SequenceId> add(SequenceRequest request);

  Plan plan(Time now);
  // The plan's rows have been computed.
  void apply(const Plan& plan);

  // A token drawn from the last row: known now. REQUIRES that all before it is computed.
  void push(SequenceId id, TokenId token);
  // A sequence that shares all that this one has computed, for another choice. REQUIRES a running
  // sequence with choices left.
  SequenceId fork(SequenceId id);
  // In any state: gives all pages back.
  void finish(SequenceId id);
  void set_paused(SequenceId id, bool paused);

  const Sequence* find(SequenceId id) const;  // null: gone
  bool is_idle() const { return sequences_.empty(); }
  int waiting() const { return waiting_; }
  int running() const { return static_cast<int>(sequences_.size()) - waiting_; }

 private:
  struct Budget {
    int rows;
    int logit_rows;
  };

  void expire(Time now, Plan& plan);
  void plan_starved(Budget& budget, Plan& plan);
  void plan_replies(Budget& budget, Plan& plan);
  void plan_prompts(Budget& budget, Plan& plan);
  void admit();
  // Those that are not paused, running or waiting.
  std::vector<Sequence*> in_rank(bool running);
  int slots_in_use() const;
  // What running sequences have been promised: pages for what they know, and one more each, which a
  // reply may need at any step.
  int pages_spoken_for() const;
  // As many of `count` rows as the budget for logits lets through.
  int within_logits(const Sequence& sequence, int count, const Budget& budget) const;
  // Plans up to `count` rows; remembers who got none for want of pages.
  void try_to_give(Sequence& sequence, int count, Budget& budget, Plan& plan);
  // Plans rows; false where there are no pages for them.
  bool give(Sequence& sequence, int count, Budget& budget, Plan& plan);
  // Takes the pages of the last in rank behind `sequence` that is not in the plan; false for none.
  bool preempt_for(const Sequence& sequence, Plan& plan);

  Limits limits_;
  kv::Pool& pool_;
  SequenceId next_id_ = 1;
  std::map<SequenceId, Sequence> sequences_;
  int waiting_ = 0;
  std::optional<SequenceId> starved_;  // got no pages in the last plan
};

}  // namespace lockstep::sched
