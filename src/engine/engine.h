// The serving core: many sequences over one model, where no request can tell how it was served.
//
// One thread owns all that changes (sequences, pages, the device) and runs step() in a loop:
// schedule, run, apply. Others submit requests, read their streams and cancel. What a reply is
// depends on the model, the profile and the request alone: not on neighbours, chunks, prefix hits,
// preemption or threads.
//
// Thread rule: step(), check_integrity() and clear_prefixes() on the engine's thread; the rest from
// any. Ownership: borrows model, device and tokenizer, which must outlive it; owns the K/V pages.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "device/device.h"
#include "engine/choice.h"
#include "engine/request.h"
#include "engine/stream.h"
#include "kv/pool.h"
#include "model/model.h"
#include "sched/scheduler.h"
#include "text/tokenizer.h"

namespace lockstep::engine {

struct EngineOptions {
  sched::Limits limits;
  int max_positions = 0;       // of a sequence; 0: the model's
  int64_t kv_bytes = 0;        // for K/V pages; at least bytes_needed()
  size_t stream_events = 256;  // that a client may leave unread before its request pauses
};

// Called with one row of logits [V] at a time, positions ascending, on the engine's thread; the row
// is valid during the call. An error ends the request with it.
using OnLogits = std::function<Status(int position, std::span<const float> row)>;

// Counts are since the engine's start, as of its last whole step.
struct EngineStatus {
  int running = 0;  // sequences
  int waiting = 0;
  int64_t steps = 0;
  int64_t rows = 0;
  int64_t preemptions = 0;
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;
  bool device_is_healthy = true;
  // How long the step at hand has been running; zero between steps.
  std::chrono::milliseconds step_age{0};
};

class Engine {
 public:
  // invalid_argument for limits that the model cannot run; resource_exhausted, with the number of
  // bytes that would do, when kv_bytes cannot hold one sequence of max_positions.
  static StatusOr<std::unique_ptr<Engine>> create(model::Model& model, device::Device& device,
                                                  const EngineOptions& options,
                                                  const text::Tokenizer* tokenizer = nullptr);
  // Bytes of pages that hold one sequence of options.max_positions.
  static StatusOr<int64_t> bytes_needed(const model::Model& model, const device::Device& device,
                                        const EngineOptions& options);
  // Ends what is still open with kError.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // What a Request of this engine may ask.
  RequestLimits request_limits() const;

  // failed_precondition for stop strings without a tokenizer; resource_exhausted ("busy: ...") when
  // too many wait. `on_logits` sees the rows of every prompt position and of every token drawn
  // from.
  StatusOr<std::shared_ptr<Stream>> submit(Request request, OnLogits on_logits = {});

  // One step. False when there was nothing to compute.
  bool step();
  // For waiting between steps that found nothing to do, and for ending such a wait.
  Waker& waker() { return *waker_; }

  EngineStatus status() const;
  int max_positions() const { return options_.max_positions; }

  // Of all layer groups.
  int pages() const;
  int free_pages() const;
  // Drops what is kept of ended sequences.
  void clear_prefixes() { pool_.forget_prefixes(); }
  // XXH3 of the last row of logits of the last step that had any.
  std::string last_logits_digest();
  // That every page is accounted for. internal_error.
  Status check_integrity() const;

 private:
  struct Live;        // a request
  struct LiveChoice;  // a sequence of one
  struct Submission;
  struct LogitUse;  // what a row of logits is for

  Engine(model::Model& model, device::Device& device, const EngineOptions& options,
         std::span<const int> pages, std::unique_ptr<device::PagePool> bytes,
         const text::Tokenizer* tokenizer);

  void take_in();
  void admit(Submission submission);
  void follow_clients();
  Status run(const sched::Plan& plan, std::vector<LogitUse>& uses);
  void apply(const sched::Plan& plan, std::vector<LogitUse>& uses);
  // Makes the sequences of further choices, and lets their rows be theirs.
  void fork_choices(std::vector<LogitUse>& uses);
  void observe(const LogitUse& use, int row);
  void deliver(sched::SequenceId id, int row, TokenId token);
  void give(Live& live, Event event);
  std::span<const float> read_row(int row);
  void finish(sched::SequenceId id, Event event);
  void end(sched::SequenceId id, FinishReason reason, const Status& error = ok_status());
  void publish_status();

  model::Model& model_;
  device::Device& device_;
  const EngineOptions options_;
  const text::Tokenizer* tokenizer_;
  std::unique_ptr<device::PagePool> bytes_;
  kv::Pool pool_;
  sched::Scheduler scheduler_;
  std::map<sched::SequenceId, LiveChoice> choices_;
  std::vector<float> row_;  // [V]
  int last_logit_rows_ = 0;
  EngineStatus totals_;

  const std::shared_ptr<Waker> waker_ = std::make_shared<Waker>();
  mutable std::mutex mutex_;
  std::vector<Submission> submissions_;  // from other threads
  uint64_t next_stream_ = 1;
  EngineStatus status_;  // totals_ after the last step
  std::optional<std::chrono::steady_clock::time_point> step_began_;
};

}  // namespace lockstep::engine
