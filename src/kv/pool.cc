#include "kv/pool.h"

#include <algorithm>
#include <climits>

#include "kv/sequence_pages.h"
#include "kv/window.h"

namespace lockstep::kv {
namespace {

std::vector<PageAllocator> make_allocators(std::span<const int> pages_per_group) {
  return {pages_per_group.begin(), pages_per_group.end()};
}

}  // namespace

Pool::Pool(StateLayout layout, std::span<const int> pages_per_group)
    : layout_(std::move(layout)),
      allocators_(make_allocators(pages_per_group)),
      index_(layout_, allocators_) {
  LOCKSTEP_CHECK(pages_per_group.size() == layout_.groups.size());
}

Pool::~Pool() { LOCKSTEP_CHECK(sequences_.empty()); }

int Pool::max_positions(int step_rows) const {
  int most = INT_MAX;
  for (int g = 0; g < groups(); ++g) {
    const LayerGroup& group = layout_.groups[static_cast<size_t>(g)];
    // A window group that holds its most has no limit of its own.
    if (pages(g).pages() >= most_pages(group, INT_MAX / 2, step_rows)) continue;
    most = std::min(most, pages(g).pages() * kPagePositions);
  }
  return most;
}

bool Pool::has_room(int positions, int step_rows, int spare) const {
  for (int g = 0; g < groups(); ++g) {
    const int needed = most_pages(layout_.groups[static_cast<size_t>(g)], positions, step_rows);
    if (needed + spare > pages(g).free_pages() + pages(g).only_held_pages()) return false;
  }
  return true;
}

void Pool::forget_prefixes() {
  for (int g = 0; g < groups(); ++g) {
    while (index_.evict(g)) {
    }
  }
}

Status Pool::check_integrity() const {
  std::vector<std::vector<int>> references;
  for (const PageAllocator& allocator : allocators_) {
    references.emplace_back(static_cast<size_t>(allocator.pages()), 0);
    LOCKSTEP_RETURN_IF_ERROR(allocator.check_integrity());
  }
  for (const SequencePages* sequence : sequences_) {
    const auto tables = sequence->tables();
    for (size_t g = 0; g < tables.size(); ++g) {
      for (const PageId page : tables[g]) {
        if (page.value >= 0) ++references[g][static_cast<size_t>(page.value)];
      }
    }
  }
  for (size_t g = 0; g < allocators_.size(); ++g) {
    for (int32_t p = 0; p < allocators_[g].pages(); ++p) {
      const int counted = references[g][static_cast<size_t>(p)] + allocators_[g].is_held(PageId{p});
      if (counted == allocators_[g].references(PageId{p})) continue;
      return internal_error("page {} of group {} has {} references but {} users", p, g,
                            allocators_[g].references(PageId{p}), counted);
    }
  }
  if (index_.pins() != static_cast<int>(sequences_.size())) {
    return internal_error("the prefix index has {} pins for {} sequences", index_.pins(),
                          sequences_.size());
  }
  return index_.check_integrity();
}

}  // namespace lockstep::kv
