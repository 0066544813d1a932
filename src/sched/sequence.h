// A sequence as the scheduler sees it: tokens that are known, positions that are computed, and a
// rank. There are no prefill and decode phases: a step computes some of the difference.
//
// Thread rule: the engine's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/vocabulary.h"
#include "kv/sequence_pages.h"

namespace lockstep::sched {

using Time = std::chrono::steady_clock::time_point;
using SequenceId = uint64_t;  // in order of arrival

struct SequenceRequest {
  std::vector<TokenId> prompt;  // not empty
  int max_positions = 0;        // the most it can come to have, >= prompt.size()
  int logits_from = -1;         // first position whose logits are wanted; -1: the prompt's last
  int choices = 1;              // how many sequences it becomes once its prompt is computed
  int priority = 0;             // higher goes first
  std::optional<Time> deadline;
  std::string cache_salt;
};

class Sequence {
 public:
  Sequence(SequenceId id, SequenceRequest request);

  SequenceId id() const { return id_; }
  int known() const { return static_cast<int>(tokens_.size()); }
  int computed() const { return computed_; }
  int remaining() const { return known() - computed_; }
  const std::vector<TokenId>& tokens() const { return tokens_; }
  bool is_running() const { return pages_ != nullptr; }
  bool is_paused() const { return paused_; }
  int priority() const { return priority_; }
  // REQUIRES is_running(). Of all positions computed, and those of the plan at hand.
  const kv::SequencePages& pages() const { return *pages_; }

 private:
  friend class Scheduler;

  // Higher priority first, then the older.
  bool outranks(const Sequence& other) const {
    return priority_ != other.priority_ ? priority_ > other.priority_ : id_ < other.id_;
  }

  SequenceId id_;
  std::vector<TokenId> tokens_;
  int max_positions_;
  int next_logits_;  // first position whose logits nobody has had yet
  int choices_;
  int priority_;
  std::optional<Time> deadline_;
  std::string cache_salt_;
  int computed_ = 0;
  bool paused_ = false;
  std::unique_ptr<kv::SequencePages> pages_;  // null while it waits
};

}  // namespace lockstep::sched
