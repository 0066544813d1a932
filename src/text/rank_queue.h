// A queue of (rank, position) pairs, the lowest first, for long runs of symbols.
//
// Long runs have few ranks, and most positions of a rank come in ascending order, as merging sweeps
// over the text. So each rank has a list of its own that is read from front to back; only a list
// that was added to out of order becomes a heap. Sweeps stay in cache where one heap over all pairs
// would not.
//
// Thread rule: one thread at a time.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace lockstep::text {

class RankQueue {
 public:
  bool empty() const { return waiting_.empty(); }

  void push(uint32_t rank, int32_t position) {
    const auto [at, added] = list_of_.try_emplace(rank, static_cast<uint32_t>(lists_.size()));
    if (added) lists_.emplace_back();
    List& list = lists_[at->second];
    if (list.empty()) {
      waiting_.push_back(uint64_t{rank} << 32 | at->second);
      std::ranges::push_heap(waiting_, std::greater{});
    }
    list.push(position);
  }

  // REQUIRES not empty.
  std::pair<uint32_t, int32_t> pop() {
    const auto rank = static_cast<uint32_t>(waiting_.front() >> 32);
    List& list = lists_[static_cast<uint32_t>(waiting_.front())];
    const int32_t position = list.pop();
    if (list.empty()) {
      std::ranges::pop_heap(waiting_, std::greater{});
      waiting_.pop_back();
    }
    return {rank, position};
  }

 private:
  class List {
   public:
    bool empty() const { return next_ == positions_.size(); }

    void push(int32_t position) {
      if (!is_heap_ && !empty() && position < positions_.back()) {
        positions_.erase(positions_.begin(), positions_.begin() + static_cast<ptrdiff_t>(next_));
        next_ = 0;
        std::ranges::make_heap(positions_, std::greater{});
        is_heap_ = true;
      }
      positions_.push_back(position);
      if (is_heap_) std::ranges::push_heap(positions_, std::greater{});
    }

    int32_t pop() {
      int32_t position = 0;
      if (is_heap_) {
        std::ranges::pop_heap(positions_, std::greater{});
        position = positions_.back();
        positions_.pop_back();
      } else {
        position = positions_[next_++];
      }
      if (empty()) {
        positions_.clear();
        next_ = 0;
        is_heap_ = false;
      }
      return position;
    }

   private:
    std::vector<int32_t> positions_;  // ascending from next_ on, or a heap
    size_t next_ = 0;
    bool is_heap_ = false;
  };

  absl::flat_hash_map<uint32_t, uint32_t> list_of_;  // looked up only
  std::vector<List> lists_;
  std::vector<uint64_t> waiting_;  // a heap: rank and list of those that are not empty
};

}  // namespace lockstep::text
