// How many pages of each layer group a number of bytes buys.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/state_layout.h"
#include "base/status.h"

namespace lockstep::kv {

struct PageNeeds {
  int max_positions = 0;  // of one sequence
  int sequences = 1;      // that run at once
  int step_rows = 1;
};

// Bytes of the pages that one sequence of max_positions holds. `page_bytes`: one entry a group.
int64_t bytes_of_one_sequence(const StateLayout& layout, std::span<const int64_t> page_bytes,
                              const PageNeeds& needs);

// Full groups get equal numbers of pages. A window group gets as many, but no more than running
// sequences can hold twice over: once for themselves and once for the prefixes kept.
// resource_exhausted, naming the bytes that would do, when one sequence does not fit.
StatusOr<std::vector<int>> pages_for_bytes(const StateLayout& layout,
                                           std::span<const int64_t> page_bytes, int64_t bytes,
                                           const PageNeeds& needs);

}  // namespace lockstep::kv
