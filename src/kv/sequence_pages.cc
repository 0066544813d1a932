#include "kv/sequence_pages.h"

#include "base/checked.h"

namespace lockstep::kv {
namespace {

size_t pages_for(int positions) { return static_cast<size_t>(ceil_div(positions, kPagePositions)); }

}  // namespace

SequencePages::SequencePages(std::span<PageAllocator> groups)
    : groups_(groups), pages_(groups.size()) {}

SequencePages::~SequencePages() { trim(0); }

Status SequencePages::grow(int positions) {
  const size_t needed = pages_for(positions);
  for (size_t g = 0; g < groups_.size(); ++g) {
    const size_t held = pages_[g].size();
    if (needed <= held) continue;
    if (needed - held > static_cast<size_t>(groups_[g].free_pages())) {
      return resource_exhausted("{} positions need {} more K/V pages; {} of {} are free", positions,
                                needed - held, groups_[g].free_pages(), groups_[g].pages());
    }
  }
  for (size_t g = 0; g < groups_.size(); ++g) {
    while (pages_[g].size() < needed) {
      auto page = groups_[g].allocate();
      LOCKSTEP_CHECK(page.ok());  // counted above
      pages_[g].push_back(*page);
    }
  }
  return ok_status();
}

void SequencePages::trim(int positions) {
  const size_t kept = pages_for(positions);
  for (size_t g = 0; g < groups_.size(); ++g) {
    while (pages_[g].size() > kept) {
      groups_[g].release(pages_[g].back());
      pages_[g].pop_back();
    }
  }
}

std::vector<std::span<const PageId>> SequencePages::tables() const {
  return {pages_.begin(), pages_.end()};
}

}  // namespace lockstep::kv
