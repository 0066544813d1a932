#include "engine/engine.h"

#include <algorithm>

#include "base/hash.h"
#include "kv/budget.h"

namespace lockstep::engine {
namespace {

using Clock = std::chrono::steady_clock;

// Nobody asks for more of its tokens' logits than a prompt's from its first on.
int logits_from(const Request& request, bool observed) {
  return request.wants_prompt_logprobs() || observed ? 0 : -1;
}

StatusOr<std::vector<int64_t>> page_bytes_of(const model::Model& model,
                                             const device::Device& device) {
  std::vector<int64_t> out;
  for (const LayerGroup& group : model.state_layout().groups) {
    LOCKSTEP_ASSIGN_OR_RETURN(const int64_t bytes, device.page_bytes(group));
    out.push_back(bytes);
  }
  return out;
}

kv::PageNeeds needs_of(const EngineOptions& options) {
  return {.max_positions = options.max_positions,
          .sequences = options.limits.max_sequences,
          .step_rows = options.limits.max_rows};
}

}  // namespace

struct Engine::Live {
  std::shared_ptr<const Request> request;
  std::shared_ptr<Stream> stream;
  OnLogits on_logits;
  std::vector<LogprobEntry> prompt_logprobs;
  Usage usage;
  bool started = false;
};

struct Engine::LiveChoice {
  std::shared_ptr<Live> live;
  Choice choice;
  int unforked = 0;  // choices that will share its prompt
};

struct Engine::Submission {
  std::shared_ptr<const Request> request;
  std::shared_ptr<Stream> stream;
  OnLogits on_logits;
};

struct Engine::LogitUse {
  sched::SequenceId sequence = 0;
  int position = 0;
  int draw = -1;  // which choice of the sequence draws from it; -1: none
};

StatusOr<std::unique_ptr<Engine>> Engine::create(model::Model& model, device::Device& device,
                                                 const EngineOptions& options,
                                                 const text::Tokenizer* tokenizer) {
  EngineOptions checked = options;
  if (options.max_positions == 0) checked.max_positions = model.max_positions();
  if (!(1 <= checked.max_positions && checked.max_positions <= model.max_positions())) {
    return invalid_argument("a context of {} positions is outside [1, {}]", options.max_positions,
                            model.max_positions());
  }
  const sched::Limits& limits = options.limits;
  if (!(1 <= limits.max_rows && limits.max_rows <= model.options().max_rows)) {
    return invalid_argument("{} rows a step are outside [1, {}]", limits.max_rows,
                            model.options().max_rows);
  }
  const int most_logits = std::min(model.options().max_logit_rows, limits.max_rows);
  if (!(1 <= limits.max_sequences && limits.max_sequences <= limits.max_logit_rows &&
        limits.max_logit_rows <= most_logits)) {
    return invalid_argument("{} sequences and {} rows of logits a step; allowed: 1 to {}",
                            limits.max_sequences, limits.max_logit_rows, most_logits);
  }
  LOCKSTEP_ASSIGN_OR_RETURN(const auto page_bytes, page_bytes_of(model, device));
  LOCKSTEP_ASSIGN_OR_RETURN(
      const std::vector<int> pages,
      kv::pages_for_bytes(model.state_layout(), page_bytes, options.kv_bytes, needs_of(checked)));
  LOCKSTEP_ASSIGN_OR_RETURN(auto bytes, device.alloc_pages(model.state_layout(), pages));
  return std::unique_ptr<Engine>(
      new Engine(model, device, checked, pages, std::move(bytes), tokenizer));
}

Engine::Engine(model::Model& model, device::Device& device, const EngineOptions& options,
               std::span<const int> pages, std::unique_ptr<device::PagePool> bytes,
               const text::Tokenizer* tokenizer)
    : model_(model),
      device_(device),
      options_(options),
      tokenizer_(tokenizer),
      bytes_(std::move(bytes)),
      pool_(model.state_layout(), pages),
      scheduler_(options.limits, pool_),
      row_(static_cast<size_t>(model.vocabulary().size())) {}

Engine::~Engine() {
  const Status stopped = unavailable("the engine has stopped");
  take_in();
  while (!choices_.empty()) end(choices_.begin()->first, FinishReason::kError, stopped);
}

StatusOr<int64_t> Engine::bytes_needed(const model::Model& model, const device::Device& device,
                                       const EngineOptions& options) {
  LOCKSTEP_ASSIGN_OR_RETURN(const auto page_bytes, page_bytes_of(model, device));
  return kv::bytes_of_one_sequence(model.state_layout(), page_bytes, needs_of(options));
}

RequestLimits Engine::request_limits() const {
  return {.vocabulary = model_.vocabulary(),
          .max_positions = options_.max_positions,
          .max_choices = options_.limits.max_sequences};
}

StatusOr<std::shared_ptr<Stream>> Engine::submit(Request request, OnLogits on_logits) {
  if (tokenizer_ == nullptr && !request.stop_strings().empty()) {
    return failed_precondition("stop strings need a tokenizer, and this model has none");
  }
  const std::lock_guard lock(mutex_);
  const size_t waiting = submissions_.size() + static_cast<size_t>(status_.waiting);
  if (waiting >= static_cast<size_t>(options_.limits.max_waiting)) {
    return resource_exhausted("busy: {} requests are waiting, which is the most allowed", waiting);
  }
  const size_t capacity =
      std::max(options_.stream_events, size_t{4} * static_cast<size_t>(request.choices()));
  auto stream = std::make_shared<Stream>(next_stream_++, request.choices(), capacity, waker_);
  submissions_.push_back({.request = std::make_shared<const Request>(std::move(request)),
                          .stream = stream,
                          .on_logits = std::move(on_logits)});
  waker_->wake();
  return stream;
}

EngineStatus Engine::status() const {
  const std::lock_guard lock(mutex_);
  EngineStatus status = status_;
  if (step_began_.has_value()) {
    status.step_age =
        std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - *step_began_);
  }
  return status;
}

int Engine::pages() const {
  int count = 0;
  for (int g = 0; g < pool_.groups(); ++g) count += pool_.pages(g).pages();
  return count;
}

int Engine::free_pages() const {
  int count = 0;
  for (int g = 0; g < pool_.groups(); ++g) count += pool_.pages(g).free_pages();
  return count;
}

Status Engine::check_integrity() const { return pool_.check_integrity(); }

// ---- A step

bool Engine::step() {
  {
    const std::lock_guard lock(mutex_);
    step_began_ = Clock::now();
  }
  take_in();
  follow_clients();
  const sched::Plan plan = scheduler_.plan(Clock::now());
  for (const sched::SequenceId id : plan.expired) end(id, FinishReason::kDeadline);
  for (const sched::SequenceId id : plan.preempted) ++choices_.at(id).live->usage.preemptions;
  if (!plan.work.empty()) {
    std::vector<LogitUse> uses;
    const Status ran = run(plan, uses);
    if (ran.ok()) {
      apply(plan, uses);
    } else {
      for (const sched::Work& work : plan.work) end(work.sequence, FinishReason::kError, ran);
      totals_.device_is_healthy = false;
    }
  }
  totals_.preemptions += static_cast<int64_t>(plan.preempted.size());
  publish_status();
  return !plan.work.empty();
}

void Engine::publish_status() {
  totals_.running = scheduler_.running();
  totals_.waiting = scheduler_.waiting();
  const std::lock_guard lock(mutex_);
  status_ = totals_;
  step_began_.reset();
}

void Engine::take_in() {
  std::vector<Submission> submissions;
  {
    const std::lock_guard lock(mutex_);
    submissions.swap(submissions_);
  }
  for (Submission& submission : submissions) admit(std::move(submission));
}

void Engine::admit(Submission submission) {
  const Request& request = *submission.request;
  const auto id = scheduler_.add({.prompt = request.prompt(),
                                  .max_positions = request.max_positions(),
                                  .logits_from = logits_from(request, bool{submission.on_logits}),
                                  .choices = request.choices(),
                                  .priority = request.priority(),
                                  .deadline = request.deadline(),
                                  .cache_salt = request.cache_salt()});
  auto live = std::make_shared<Live>();
  live->request = submission.request;
  live->stream = submission.stream;
  live->on_logits = std::move(submission.on_logits);
  live->usage.prompt_tokens = static_cast<int>(request.prompt().size());
  if (id.ok()) {
    choices_.emplace(*id,
                     LiveChoice{live, Choice(live->request, 0, tokenizer_), request.choices() - 1});
    return;
  }
  for (int i = 0; i < request.choices(); ++i) {
    give(*live, Choice(live->request, i, nullptr).end(FinishReason::kError, id.status()));
  }
}

void Engine::follow_clients() {
  std::vector<sched::SequenceId> cancelled;
  for (const auto& [id, live] : choices_) {
    const Stream& stream = *live.live->stream;
    if (stream.is_cancelled()) {
      cancelled.push_back(id);
    } else {
      scheduler_.set_paused(id, !stream.has_room());
    }
  }
  for (const sched::SequenceId id : cancelled) end(id, FinishReason::kCancelled);
}

Status Engine::run(const sched::Plan& plan, std::vector<LogitUse>& uses) {
  std::vector<device::StepRow> rows;
  std::vector<device::StepSequence> sequences;
  std::vector<int32_t> logit_rows;
  std::vector<RowSampling> sampling;
  for (const sched::Work& work : plan.work) {
    const sched::Sequence& sequence = *scheduler_.find(work.sequence);
    const LiveChoice& live = choices_.at(work.sequence);
    if (!live.live->started) {
      live.live->started = true;
      live.live->usage.cached_tokens = work.first;
      totals_.cached_tokens += work.first;
      totals_.prompt_tokens += live.live->usage.prompt_tokens;
    }
    const auto index = static_cast<int32_t>(sequences.size());
    sequences.push_back({sequence.pages().tables()});
    for (int position = work.first; position < work.first + work.count; ++position) {
      const TokenId token = sequence.tokens()[static_cast<size_t>(position)];
      rows.push_back(
          {.sequence = index, .position = position, .token = device::RowToken::of(token)});
      if (position < work.logits_from) continue;
      const bool is_last = position + 1 == sequence.known();
      for (int draw = 0; draw < (is_last ? work.choices : 1); ++draw) {
        logit_rows.push_back(static_cast<int32_t>(rows.size()) - 1);
        uses.push_back(
            {.sequence = work.sequence, .position = position, .draw = is_last ? draw : -1});
        sampling.push_back(RowSampling());
        if (is_last) sampling.back() = live.choice.row_sampling();
        if (draw > 0) sampling.back().params = live.choice.request().sampling(draw);
      }
    }
  }
  device_.copy_pages(*bytes_, plan.copies);
  const device::StepView& step = device_.begin_step(
      {.rows = rows, .sequences = sequences, .logit_rows = logit_rows, .sampling = sampling});
  model_.forward(step, *bytes_);
  if (!sampling.empty()) device_.sample(step, model_.logits_view());
  if (!logit_rows.empty()) last_logit_rows_ = static_cast<int>(logit_rows.size());
  ++totals_.steps;
  totals_.rows += static_cast<int64_t>(rows.size());
  return device_.end_step();
}

std::string Engine::last_logits_digest() {
  LOCKSTEP_CHECK(last_logit_rows_ > 0);
  return xxh3_128_hex(std::as_bytes(read_row(last_logit_rows_ - 1)));
}

std::span<const float> Engine::read_row(int row) {
  device_.read(model_.logits(), row, row_);
  return row_;
}

void Engine::apply(const sched::Plan& plan, std::vector<LogitUse>& uses) {
  scheduler_.apply(plan);
  const std::vector<TokenId> drawn(device_.sampled().begin(), device_.sampled().end());
  fork_choices(uses);
  for (size_t i = 0; i < uses.size(); ++i) {
    const LogitUse& use = uses[i];
    const int row = static_cast<int>(i);
    // A choice may have ended with a row before this one.
    if (choices_.contains(use.sequence)) observe(use, row);
    if (use.draw >= 0 && choices_.contains(use.sequence)) deliver(use.sequence, row, drawn[i]);
  }
}

void Engine::fork_choices(std::vector<LogitUse>& uses) {
  for (LogitUse& use : uses) {
    if (use.draw <= 0) continue;
    LiveChoice& parent = choices_.at(use.sequence);
    use.sequence = scheduler_.fork(use.sequence);
    --parent.unforked;
    choices_.emplace(use.sequence,
                     LiveChoice{parent.live, Choice(parent.live->request, use.draw, tokenizer_)});
  }
}

void Engine::observe(const LogitUse& use, int row) {
  Live& live = *choices_.at(use.sequence).live;
  const auto& prompt = live.request->prompt();
  const auto next = static_cast<size_t>(use.position) + 1;
  if (live.request->wants_prompt_logprobs() && next < prompt.size()) {
    live.prompt_logprobs.push_back(
        logprob_entry(read_row(row), prompt[next], live.request->top_logprobs()));
  }
  if (!live.on_logits || use.draw > 0) return;
  const Status seen = live.on_logits(use.position, read_row(row));
  if (!seen.ok()) end(use.sequence, FinishReason::kError, seen);
}

void Engine::deliver(sched::SequenceId id, int row, TokenId token) {
  LiveChoice& live = choices_.at(id);
  const Request& request = *live.live->request;
  if (request.max_tokens() == 0) return end(id, FinishReason::kLength);
  const bool has_next_position = scheduler_.find(id)->known() < request.max_positions();
  const std::span<const float> logits =
      live.choice.needs_row() ? read_row(row) : std::span<const float>();
  Event event = live.choice.accept(token, logits, has_next_position);
  ++live.live->usage.reply_tokens;
  if (event.finish.has_value()) return finish(id, std::move(event));
  give(*live.live, std::move(event));
  scheduler_.push(id, token);
}

void Engine::give(Live& live, Event event) {
  if (event.choice == 0) event.prompt_logprobs = std::exchange(live.prompt_logprobs, {});
  live.stream->set_usage(live.usage);
  live.stream->push(std::move(event));
}

void Engine::finish(sched::SequenceId id, Event event) {
  give(*choices_.at(id).live, std::move(event));
  if (scheduler_.find(id) != nullptr) scheduler_.finish(id);
  choices_.erase(id);
}

void Engine::end(sched::SequenceId id, FinishReason reason, const Status& error) {
  const LiveChoice& live = choices_.at(id);
  for (int i = 0; i < live.unforked; ++i) {
    Choice unborn(live.live->request, live.live->request->choices() - 1 - i, nullptr);
    give(*live.live, unborn.end(reason, error));
  }
  finish(id, choices_.at(id).choice.end(reason, error));
}

}  // namespace lockstep::engine
