// The page tables of one sequence: for each layer group the pages that hold its positions. Owns one
// reference to each page and gives them back at its end.
//
// Thread rule: the engine's thread. Ownership: borrows the allocators, one a group.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/state_layout.h"
#include "base/status.h"
#include "kv/page_allocator.h"

namespace lockstep::kv {

class SequencePages {
 public:
  explicit SequencePages(std::span<PageAllocator> groups);
  ~SequencePages();
  SequencePages(const SequencePages&) = delete;
  SequencePages& operator=(const SequencePages&) = delete;

  // Pages for positions [0, positions) in every group, or none taken and resource_exhausted.
  Status grow(int positions);
  // Keeps the pages of positions [0, positions) and drops the references to all behind them.
  void trim(int positions);

  // One table a group; valid until the next grow or trim.
  std::vector<std::span<const PageId>> tables() const;

 private:
  std::span<PageAllocator> groups_;
  std::vector<std::vector<PageId>> pages_;  // [group]
};

}  // namespace lockstep::kv
