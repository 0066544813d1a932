// What a request gives back, event by event, from the engine's thread to a client's.
//
// Bounded: when a client does not read, its stream fills, and the engine pauses that request and no
// other until there is room again.
//
// Thread rule: the engine pushes, one client thread reads; cancel() from any.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/vocabulary.h"
#include "device/logprobs.h"

namespace lockstep::engine {

enum class FinishReason : uint8_t {
  kStop,       // a stop id or a stop string
  kLength,     // max_tokens
  kContext,    // no room for another position
  kCancelled,  // by the client
  kDeadline,
  kError,  // Event::error says why
};
std::string_view finish_reason_name(FinishReason reason);

struct LogprobEntry {
  device::TokenLogprob token;
  std::vector<device::TokenLogprob> top;
};

// One token of one choice, or its end, or both.
struct Event {
  int choice = 0;
  std::optional<TokenId> token;
  std::string text;  // whole characters that are complete with this token; may be empty
  std::optional<LogprobEntry> logprob;
  std::vector<LogprobEntry> prompt_logprobs;  // with the first event of choice 0
  std::optional<FinishReason> finish;
  Status error;        // kError only
  std::string digest;  // with finish, where asked for
};

// How a request was served; complete when its stream has ended.
struct Usage {
  int prompt_tokens = 0;
  int cached_tokens = 0;  // of the prompt, found in the prefix index
  int reply_tokens = 0;   // of all choices
  int preemptions = 0;
};

// Tells an engine that waits that there may be something to do.
//
// Thread rule: any. Shared with streams, which may outlive their engine.
class Waker {
 public:
  void wake();
  // Until woken since the last wait, at most `most`.
  void wait(std::chrono::milliseconds most);

 private:
  std::mutex mutex_;
  std::condition_variable woken_;
  bool is_woken_ = false;
};

class Stream {
 public:
  Stream(uint64_t id, int choices, size_t capacity, std::shared_ptr<Waker> engine)
      : id_(id), open_choices_(choices), capacity_(capacity), engine_(std::move(engine)) {}

  uint64_t id() const { return id_; }

  // The next event; nothing once every choice has finished. Waits.
  std::optional<Event> next();
  // The same without waiting: also nothing where there is none yet.
  std::optional<Event> try_next();
  bool is_done() const;  // all choices finished and all events read
  Usage usage() const;

  // The client wants no more: choices end with kCancelled.
  void cancel();
  bool is_cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

 private:
  friend class Engine;
  void push(Event event);
  bool has_room() const;  // for one event of every choice and its end
  void set_usage(const Usage& usage);
  std::optional<Event> pop(std::unique_lock<std::mutex>& lock);

  const uint64_t id_;
  mutable std::mutex mutex_;
  std::condition_variable pushed_;
  std::deque<Event> events_;
  int open_choices_;
  const size_t capacity_;
  Usage usage_;
  const std::shared_ptr<Waker> engine_;
  std::atomic<bool> cancelled_{false};
};

}  // namespace lockstep::engine
