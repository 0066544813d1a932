#include "kv/page_allocator.h"

namespace lockstep::kv {

PageAllocator::PageAllocator(int pages) : pages_(static_cast<size_t>(pages)) {
  free_.reserve(pages_.size());
  for (int32_t i = pages - 1; i >= 0; --i) free_.push_back(PageId{i});  // lowest first
}

StatusOr<PageId> PageAllocator::allocate() {
  if (free_.empty()) return resource_exhausted("all {} K/V pages are in use", pages());
  const PageId page = free_.back();
  free_.pop_back();
  pages_[static_cast<size_t>(page.value)].references = 1;
  return page;
}

PageAllocator::Page& PageAllocator::live(PageId page) {
  Page& p = pages_.at(static_cast<size_t>(page.value));
  LOCKSTEP_CHECK(p.references > 0);
  return p;
}

void PageAllocator::add_reference(PageId page) {
  Page& p = live(page);
  only_held_ -= p.only_held();
  ++p.references;
}

void PageAllocator::release(PageId page) {
  Page& p = live(page);
  LOCKSTEP_CHECK(!p.only_held());
  --p.references;
  only_held_ += p.only_held();
  if (p.references == 0) free_.push_back(page);
}

void PageAllocator::hold(PageId page) {
  LOCKSTEP_CHECK(!is_held(page));
  add_reference(page);
  live(page).held = true;
}

void PageAllocator::drop_hold(PageId page) {
  Page& p = live(page);
  LOCKSTEP_CHECK(p.held);
  only_held_ -= p.only_held();
  p.held = false;
  release(page);
}

int PageAllocator::references(PageId page) const {
  return pages_.at(static_cast<size_t>(page.value)).references;
}

bool PageAllocator::is_held(PageId page) const {
  return pages_.at(static_cast<size_t>(page.value)).held;
}

Status PageAllocator::check_integrity() const {
  std::vector<bool> is_free(pages_.size(), false);
  for (const PageId page : free_) {
    const auto i = static_cast<size_t>(page.value);
    if (is_free[i]) return internal_error("page {} is on the free list twice", page.value);
    if (pages_[i].references != 0) {
      return internal_error("page {} is free and referenced", page.value);
    }
    is_free[i] = true;
  }
  int only_held = 0;
  for (size_t i = 0; i < pages_.size(); ++i) {
    if (pages_[i].references == 0 && !is_free[i]) return internal_error("page {} is lost", i);
    if (pages_[i].references == 0 && pages_[i].held) {
      return internal_error("page {} is held and free", i);
    }
    only_held += pages_[i].only_held();
  }
  if (only_held != only_held_) {
    return internal_error("{} pages are held alone, but {} were counted", only_held, only_held_);
  }
  return ok_status();
}

}  // namespace lockstep::kv
