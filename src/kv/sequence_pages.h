// The page tables of one sequence: for each layer group the pages that hold its positions, and the
// rules by which tables grow, are shared, shrink and are forgotten. One reference to each page,
// given back at its end.
//
// Life of a table: adopt (a prefix that the index has) or fork; then append before each step,
// record after it. Whole pages are shared; the page that an append writes into is made the
// sequence's own first, by a copy.
//
// Thread rule: the engine's thread. Ownership: borrows the pool, which outlives it.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/state_layout.h"
#include "base/status.h"
#include "base/vocabulary.h"
#include "kv/pool.h"

namespace lockstep::kv {

class SequencePages {
 public:
  // The longest prefix of `tokens` that the index has under `salt`, at most `most` positions long:
  // positions() tells how long. The rest is still to be computed.
  static std::unique_ptr<SequencePages> adopt(Pool& pool, std::string_view salt,
                                              std::span<const TokenId> tokens, int most);
  ~SequencePages();
  SequencePages(const SequencePages&) = delete;
  SequencePages& operator=(const SequencePages&) = delete;

  // Positions that have a place: [0, positions()).
  int positions() const { return positions_; }

  // Places for `count` more positions in every group, or none taken and resource_exhausted. What
  // only the index keeps gives way. Copies are added to `copies` and must be made before the step,
  // and before any other call that takes pages.
  Status append(int count, std::vector<PageCopy>& copies);

  // After a step: positions [0, tokens.size()) are computed, from these tokens. Whole pages go to
  // the index (where it has the same page already, that one is used and the own given back), and
  // pages that no later row reads are dropped. REQUIRES tokens.size() <= positions().
  void record(std::span<const TokenId> tokens);

  // Keeps positions [0, positions) and drops the references to all behind them, and only the
  // references: a sibling that shares a page keeps it. Returns the positions kept: fewer, namely
  // none, where a window has moved on and its pages are gone. Rewinding is the same.
  int trim(int positions);

  // A sequence that shares every page of this one.
  std::unique_ptr<SequencePages> fork() const;

  // One table a group; entry i holds positions [32 i, 32 i + 32), -1 where no row reads it any
  // more. Valid until the next call that is not const.
  std::vector<std::span<const PageId>> tables() const;

 private:
  SequencePages(Pool& pool, PrefixIndex::Node node);
  PageAllocator& allocator(size_t group) const { return pool_.pages(static_cast<int>(group)); }
  // Whether the next position is written into a page that somebody else also uses.
  bool next_page_is_shared(size_t group) const;
  bool make_room(size_t group, size_t pages);

  Pool& pool_;
  PrefixIndex::Node node_;  // pinned: the last page that is in the index
  int positions_ = 0;
  std::vector<std::vector<PageId>> pages_;  // [group][page]
};

}  // namespace lockstep::kv
