// Which pages a row can reach: the one rule of every state kind that freeing, sharing and resuming
// follow.
#pragma once

#include <algorithm>

#include "base/checked.h"
#include "base/state_layout.h"

namespace lockstep::kv {

// The first page that the row at `position`, or any row after it, reads.
inline int first_page_read(const LayerGroup& group, int position) {
  if (group.kind == StateKind::kFull) return 0;
  return std::max(0, position - group.window + 1) / kPagePositions;
}

// Pages of positions [0, positions).
inline int pages_for(int positions) {
  return static_cast<int>(ceil_div(positions, kPagePositions));
}

// The most pages that a sequence of `positions` holds at once when steps append `step_rows` at
// most.
inline int most_pages(const LayerGroup& group, int positions, int step_rows) {
  const int all = pages_for(positions);
  if (group.kind == StateKind::kFull) return all;
  return std::min(all, pages_for(group.window + step_rows) + 1);
}

}  // namespace lockstep::kv
