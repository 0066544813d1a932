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

  int pages() const { return static_cast<int>(pages_.size()); }
  int free_pages() const { return static_cast<int>(free_.size()); }
  // Live pages that nothing but a hold keeps.
  int only_held_pages() const { return only_held_; }

  // A page with one reference; resource_exhausted naming the pool's size.
  StatusOr<PageId> allocate();
  // REQUIRES a live page. A page whose last reference goes is free again.
  void add_reference(PageId page);
  void release(PageId page);
  int references(PageId page) const;

  // A hold is the prefix index's own reference, one a page at most. REQUIRES a live page, not held
  // yet, or held.
  void hold(PageId page);
  void drop_hold(PageId page);
  bool is_held(PageId page) const;

  // Free list and live pages are disjoint and together all pages. internal_error naming the page.
  Status check_integrity() const;

 private:
  struct Page {
    int32_t references = 0;
    bool held = false;
    bool only_held() const { return held && references == 1; }
  };
  Page& live(PageId page);

  std::vector<Page> pages_;
  std::vector<PageId> free_;  // taken from the back
  int only_held_ = 0;
};

}  // namespace lockstep::kv
