#include "sched/scheduler.h"

#include <algorithm>

#include "kv/window.h"

namespace lockstep::sched {
namespace {

bool is_planned(const Plan& plan, SequenceId id) {
  return std::ranges::find(plan.work, id, &Work::sequence) != plan.work.end();
}

}  // namespace

Sequence::Sequence(SequenceId id, SequenceRequest request)
    : id_(id),
      tokens_(std::move(request.prompt)),
      max_positions_(request.max_positions),
      next_logits_(request.logits_from >= 0 ? request.logits_from : known() - 1),
      choices_(request.choices),
      priority_(request.priority),
      deadline_(request.deadline),
      cache_salt_(std::move(request.cache_salt)) {}

Scheduler::Scheduler(const Limits& limits, kv::Pool& pool) : limits_(limits), pool_(pool) {
  LOCKSTEP_CHECK(1 <= limits.max_sequences && limits.max_sequences <= limits.max_rows &&
                 limits.max_sequences <= limits.max_logit_rows);
  LOCKSTEP_CHECK(1 <= limits.max_waiting && 1 <= limits.prompt_rows_beside_replies);
}

StatusOr<SequenceId> Scheduler::add(SequenceRequest request) {
  LOCKSTEP_CHECK(!request.prompt.empty() && request.prompt.size() <= INT32_MAX);
  LOCKSTEP_CHECK(static_cast<int>(request.prompt.size()) <= request.max_positions);
  if (request.max_positions > pool_.max_positions(limits_.max_rows)) {
    return invalid_argument("a request of {} positions can never fit; the K/V pages hold {}",
                            request.max_positions, pool_.max_positions(limits_.max_rows));
  }
  if (!(1 <= request.choices && request.choices <= limits_.max_sequences)) {
    return invalid_argument("{} choices are outside [1, {}]", request.choices,
                            limits_.max_sequences);
  }
  if (waiting_ >= limits_.max_waiting) {
    return resource_exhausted("{} requests are waiting, which is the most allowed", waiting_);
  }
  const SequenceId id = next_id_++;
  sequences_.emplace(id, Sequence(id, std::move(request)));
  ++waiting_;
  return id;
}

const Sequence* Scheduler::find(SequenceId id) const {
  const auto found = sequences_.find(id);
  return found == sequences_.end() ? nullptr : &found->second;
}

void Scheduler::finish(SequenceId id) {
  const auto found = sequences_.find(id);
  LOCKSTEP_CHECK(found != sequences_.end());
  if (!found->second.is_running()) --waiting_;
  sequences_.erase(found);
}

void Scheduler::set_paused(SequenceId id, bool paused) { sequences_.at(id).paused_ = paused; }

void Scheduler::push(SequenceId id, TokenId token) {
  Sequence& sequence = sequences_.at(id);
  LOCKSTEP_CHECK(sequence.remaining() == 0 && sequence.known() < sequence.max_positions_);
  sequence.next_logits_ = sequence.known();
  sequence.tokens_.push_back(token);
}

SequenceId Scheduler::fork(SequenceId id) {
  Sequence& parent = sequences_.at(id);
  LOCKSTEP_CHECK(parent.is_running() && parent.choices_ > 1 && parent.remaining() == 0);
  --parent.choices_;
  const SequenceId child_id = next_id_++;
  SequenceRequest request{.prompt = parent.tokens_,
                          .max_positions = parent.max_positions_,
                          .logits_from = parent.next_logits_,
                          .choices = 1,
                          .priority = parent.priority_,
                          .deadline = parent.deadline_,
                          .cache_salt = parent.cache_salt_};
  Sequence child(child_id, std::move(request));
  child.computed_ = parent.computed_;
  child.pages_ = parent.pages_->fork();
  sequences_.emplace(child_id, std::move(child));
  return child_id;
}

void Scheduler::expire(Time now, Plan& plan) {
  for (const auto& [id, sequence] : sequences_) {
    if (sequence.deadline_.has_value() && *sequence.deadline_ <= now) plan.expired.push_back(id);
  }
  for (const SequenceId id : plan.expired) finish(id);
}

std::vector<Sequence*> Scheduler::in_rank(bool running) {
  std::vector<Sequence*> out;
  for (auto& [id, sequence] : sequences_) {
    if (sequence.is_running() == running && !sequence.is_paused()) out.push_back(&sequence);
  }
  std::ranges::stable_sort(out, [](auto* a, auto* b) { return a->outranks(*b); });
  return out;
}

int Scheduler::slots_in_use() const {
  int slots = 0;
  for (const auto& [id, sequence] : sequences_) {
    if (sequence.is_running()) slots += sequence.choices_;
  }
  return slots;
}

int Scheduler::pages_spoken_for() const {
  int pages = 0;
  for (const auto& [id, sequence] : sequences_) {
    if (!sequence.is_running()) continue;
    pages += kv::pages_for(sequence.known()) - kv::pages_for(sequence.pages().positions()) + 1;
  }
  return pages;
}

Plan Scheduler::plan(Time now) {
  Plan plan;
  expire(now, plan);
  Budget budget{.rows = limits_.max_rows, .logit_rows = limits_.max_logit_rows};
  plan_starved(budget, plan);
  plan_replies(budget, plan);
  admit();
  plan_prompts(budget, plan);
  return plan;
}

void Scheduler::plan_starved(Budget& budget, Plan& plan) {
  const auto found = starved_.has_value() ? sequences_.find(*starved_) : sequences_.end();
  starved_.reset();
  if (found == sequences_.end()) return;
  Sequence& sequence = found->second;
  if (!sequence.is_running() || sequence.is_paused()) return;
  const int share =
      std::min({sequence.remaining(), limits_.prompt_rows_beside_replies, budget.rows});
  try_to_give(sequence, share, budget, plan);
}

void Scheduler::try_to_give(Sequence& sequence, int count, Budget& budget, Plan& plan) {
  count = within_logits(sequence, std::min(count, budget.rows), budget);
  if (count > 0 && !give(sequence, count, budget, plan) && !starved_.has_value()) {
    starved_ = sequence.id();
  }
}

void Scheduler::plan_replies(Budget& budget, Plan& plan) {
  for (Sequence* sequence : in_rank(/*running=*/true)) {
    // Earlier ones in this loop may have taken its pages.
    if (!sequence->is_running() || sequence->remaining() != 1) continue;
    if (!is_planned(plan, sequence->id())) try_to_give(*sequence, 1, budget, plan);
  }
}

void Scheduler::admit() {
  if (starved_.has_value()) return;
  int slots = slots_in_use();
  for (Sequence* sequence : in_rank(/*running=*/false)) {
    if (slots + sequence->choices_ > limits_.max_sequences) return;
    if (running() > 0 &&
        !pool_.has_room(sequence->known() + 1, limits_.max_rows, pages_spoken_for())) {
      return;
    }
    const int most = std::min(sequence->known() - 1, sequence->next_logits_);
    sequence->pages_ =
        kv::SequencePages::adopt(pool_, sequence->cache_salt_, sequence->tokens_, most);
    sequence->computed_ = sequence->pages_->positions();
    slots += sequence->choices_;
    --waiting_;
  }
}

void Scheduler::plan_prompts(Budget& budget, Plan& plan) {
  std::vector<Sequence*> prompts = in_rank(/*running=*/true);
  std::erase_if(prompts, [&](const Sequence* sequence) {
    return sequence->remaining() == 0 || is_planned(plan, sequence->id());
  });
  if (prompts.empty()) return;

  int rows = budget.rows;
  if (!plan.work.empty()) rows = std::min(rows, limits_.prompt_rows_beside_replies);
  std::vector<int> shares(prompts.size(), 0);
  const auto raise = [&](size_t i, int most) {
    const int more = std::min({most, prompts[i]->remaining() - shares[i], rows});
    shares[i] += more;
    rows -= more;
  };
  const auto shortest = std::ranges::min_element(
      prompts, {}, [](const Sequence* sequence) { return sequence->remaining(); });
  raise(0, (rows + 1) / 2);
  raise(static_cast<size_t>(shortest - prompts.begin()), rows);
  for (size_t i = 0; i < prompts.size(); ++i) raise(i, rows);

  for (size_t i = 0; i < prompts.size(); ++i) {
    // An earlier one may have taken its pages.
    if (prompts[i]->is_running()) try_to_give(*prompts[i], shares[i], budget, plan);
  }
}

int Scheduler::within_logits(const Sequence& sequence, int count, const Budget& budget) const {
  const int before = std::max(0, sequence.next_logits_ - sequence.computed_);
  if (count <= before) return count;
  // Rows that reach the head: one each, but the last known token's as often as it is drawn from.
  const bool draws = count == sequence.remaining();
  const int needed = count - before + (draws ? sequence.choices_ - 1 : 0);
  if (needed <= budget.logit_rows) return count;
  return std::min(count - (draws ? 1 : 0), before + budget.logit_rows);
}

bool Scheduler::give(Sequence& sequence, int count, Budget& budget, Plan& plan) {
  while (!sequence.pages_->append(count, plan.copies).ok()) {
    if (!preempt_for(sequence, plan)) return false;
  }
  const int end = sequence.computed_ + count;
  Work work{.sequence = sequence.id(),
            .first = sequence.computed_,
            .count = count,
            .logits_from = std::max(sequence.next_logits_, sequence.computed_),
            .choices = end == sequence.known() ? sequence.choices_ : 1};
  budget.rows -= count;
  budget.logit_rows -= std::max(0, end - work.logits_from) + work.choices - 1;
  plan.work.push_back(work);
  return true;
}

bool Scheduler::preempt_for(const Sequence& sequence, Plan& plan) {
  Sequence* victim = nullptr;
  const auto is_better = [&](const Sequence& other) {
    if (victim == nullptr) return true;
    if (other.is_paused() != victim->is_paused()) return other.is_paused();
    return victim->outranks(other);
  };
  for (auto& [id, other] : sequences_) {
    if (id == sequence.id() || !other.is_running() || is_planned(plan, id)) continue;
    if (!other.is_paused() && other.outranks(sequence)) continue;
    if (is_better(other)) victim = &other;
  }
  if (victim == nullptr) return false;
  victim->pages_.reset();
  victim->computed_ = 0;
  ++waiting_;
  plan.preempted.push_back(victim->id());
  return true;
}

void Scheduler::apply(const Plan& plan) {
  for (const Work& work : plan.work) {
    const auto found = sequences_.find(work.sequence);
    if (found == sequences_.end()) continue;  // ended while the step ran
    Sequence& sequence = found->second;
    sequence.computed_ = work.first + work.count;
    sequence.next_logits_ = std::max(sequence.next_logits_, sequence.computed_);
    sequence.pages_->record(
        std::span(sequence.tokens_).first(static_cast<size_t>(sequence.computed_)));
  }
}

}  // namespace lockstep::sched
