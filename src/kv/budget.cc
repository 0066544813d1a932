#include "kv/budget.h"

#include <algorithm>

#include "kv/window.h"

namespace lockstep::kv {
namespace {

constexpr int kMaxPages = 1 << 22;  // of a group: bounds what the accounting itself takes

int pages_of_group(const LayerGroup& group, int full_pages, const PageNeeds& needs) {
  if (group.kind == StateKind::kFull) return full_pages;
  const int64_t one = most_pages(group, needs.max_positions, needs.step_rows);
  return static_cast<int>(std::min<int64_t>(full_pages, 2 * one * needs.sequences));
}

// Saturates: a caller's limit is far below.
int64_t total_bytes(const StateLayout& layout, std::span<const int64_t> page_bytes, int full_pages,
                    const PageNeeds& needs) {
  int64_t total = 0;
  for (size_t g = 0; g < layout.groups.size(); ++g) {
    int64_t bytes = 0;
    const int pages = pages_of_group(layout.groups[g], full_pages, needs);
    if (__builtin_mul_overflow(page_bytes[g], int64_t{pages}, &bytes) ||
        __builtin_add_overflow(total, bytes, &total)) {
      return INT64_MAX;
    }
  }
  return total;
}

}  // namespace

int64_t bytes_of_one_sequence(const StateLayout& layout, std::span<const int64_t> page_bytes,
                              const PageNeeds& needs) {
  return total_bytes(layout, page_bytes, pages_for(needs.max_positions), needs);
}

StatusOr<std::vector<int>> pages_for_bytes(const StateLayout& layout,
                                           std::span<const int64_t> page_bytes, int64_t bytes,
                                           const PageNeeds& needs) {
  LOCKSTEP_CHECK(page_bytes.size() == layout.groups.size());
  const int one = pages_for(needs.max_positions);
  const int64_t least = total_bytes(layout, page_bytes, one, needs);
  if (bytes < least) {
    return resource_exhausted(
        "{} bytes of K/V pages cannot hold one sequence of {} positions; {} "
        "would",
        bytes, needs.max_positions, least);
  }
  int low = one;
  int high = std::max(one, kMaxPages);
  while (low < high) {
    const int middle = low + (high - low + 1) / 2;
    if (total_bytes(layout, page_bytes, middle, needs) <= bytes) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  std::vector<int> pages;
  pages.reserve(layout.groups.size());
  for (const LayerGroup& group : layout.groups) pages.push_back(pages_of_group(group, low, needs));
  return pages;
}

}  // namespace lockstep::kv
