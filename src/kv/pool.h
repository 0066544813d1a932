// The pages of one model's states: all allocators, the index of prefixes, and who uses what. What a
// sequence does with its own pages is in sequence_pages.h.
//
// Accounting only: page ids, never bytes. Sum of references = entries of page tables + holds of the
// index, at all times; check_integrity() says so.
//
// Thread rule: the engine's thread. Ownership: outlives its sequences.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "base/state_layout.h"
#include "base/status.h"
#include "kv/page_allocator.h"
#include "kv/prefix_index.h"

namespace lockstep::kv {

class SequencePages;

class Pool {
 public:
  // REQUIRES one count a group.
  Pool(StateLayout layout, std::span<const int> pages_per_group);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  const StateLayout& layout() const { return layout_; }
  int groups() const { return static_cast<int>(layout_.groups.size()); }
  const PageAllocator& pages(int group) const { return allocators_[static_cast<size_t>(group)]; }
  PageAllocator& pages(int group) { return allocators_[static_cast<size_t>(group)]; }
  PrefixIndex& index() { return index_; }
  const PrefixIndex& index() const { return index_; }

  // The most positions that one sequence can have when it is alone, in steps of `step_rows`.
  int max_positions(int step_rows) const;
  // Whether `positions` of a new sequence fit beside what is in use, with `spare` pages of each
  // group left over. A guess: pages of the index that another sequence needs count as free.
  bool has_room(int positions, int step_rows, int spare) const;

  // Drops all that only the index keeps.
  void forget_prefixes();

  Status check_integrity() const;

 private:
  friend class SequencePages;
  StateLayout layout_;
  std::vector<PageAllocator> allocators_;
  PrefixIndex index_;
  std::set<const SequencePages*> sequences_;  // for check_integrity alone
};

}  // namespace lockstep::kv
