#include "kv/page_allocator.h"

namespace lockstep::kv {

PageAllocator::PageAllocator(int pages) : references_(static_cast<size_t>(pages), 0) {
  free_.reserve(references_.size());
  for (int32_t i = pages - 1; i >= 0; --i) free_.push_back(PageId{i});  // lowest first
}

StatusOr<PageId> PageAllocator::allocate() {
  if (free_.empty()) return resource_exhausted("all {} K/V pages are in use", pages());
  const PageId page = free_.back();
  free_.pop_back();
  references_[static_cast<size_t>(page.value)] = 1;
  return page;
}

void PageAllocator::add_reference(PageId page) {
  LOCKSTEP_CHECK(references(page) > 0);
  ++references_[static_cast<size_t>(page.value)];
}

void PageAllocator::release(PageId page) {
  LOCKSTEP_CHECK(references(page) > 0);
  if (--references_[static_cast<size_t>(page.value)] == 0) free_.push_back(page);
}

int PageAllocator::references(PageId page) const {
  return references_.at(static_cast<size_t>(page.value));
}

Status PageAllocator::check_integrity() const {
  std::vector<bool> is_free(references_.size(), false);
  for (const PageId page : free_) {
    const auto i = static_cast<size_t>(page.value);
    if (is_free[i]) return internal_error("page {} is on the free list twice", page.value);
    if (references_[i] != 0) return internal_error("page {} is free and referenced", page.value);
    is_free[i] = true;
  }
  for (size_t i = 0; i < references_.size(); ++i) {
    if (references_[i] == 0 && !is_free[i]) return internal_error("page {} is lost", i);
  }
  return ok_status();
}

}  // namespace lockstep::kv
