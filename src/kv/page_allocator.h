// Who owns which page of one layer group: a free list and a count of references a page. Accounting
// only; the bytes are the device's.
//
// Thread rule: the engine's thread.
#pragma once

#include <cstdint>
#include <vector>

#include "base/state_layout.h"
#include "base/status.h"

namespace lockstep::kv {

class PageAllocator {
 public:
  explicit PageAllocator(int pages);

  int pages() const { return static_cast<int>(references_.size()); }
  int free_pages() const { return static_cast<int>(free_.size()); }

  // A page with one reference; resource_exhausted naming the pool's size.
  StatusOr<PageId> allocate();
  // REQUIRES a live page. A page whose last reference goes is free again.
  void add_reference(PageId page);
  void release(PageId page);
  int references(PageId page) const;

  // Free list and live pages are disjoint and together all pages. internal_error naming the page.
  Status check_integrity() const;

 private:
  std::vector<int32_t> references_;  // by page
  std::vector<PageId> free_;         // taken from the back
};

}  // namespace lockstep::kv
