// Pages of the reference device: f32 values that were rounded to the K/V type when appended.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "device/device.h"

namespace lockstep::device::reference {

class ReferencePages : public PagePool {
 public:
  static StatusOr<std::unique_ptr<ReferencePages>> create(const StateLayout& layout,
                                                          std::span<const int> pages_per_group);

  static StatusOr<int64_t> page_bytes(const LayerGroup& group);

  void copy(const PageCopy& copy);

  // The vector of one head at one slot (position within the page).
  float* k(StateLayer layer, PageId page, int slot, int head);
  float* v(StateLayer layer, PageId page, int slot, int head);
  const float* k(StateLayer layer, PageId page, int slot, int head) const;
  const float* v(StateLayer layer, PageId page, int slot, int head) const;

  const LayerGroup& group_of(StateLayer layer) const { return layout().groups[layer.group]; }

 private:
  struct Group {
    std::vector<float> k;  // [pages, layers, 32, kv_heads, k_head_size]
    std::vector<float> v;  // [pages, layers, 32, kv_heads, v_head_size]
  };

  ReferencePages(StateLayout layout, std::vector<int> pages, std::vector<Group> groups);
  int64_t vector_index(StateLayer layer, PageId page, int slot, int head) const;

  std::vector<Group> groups_;
};

// The page that holds a position, and where in it.
inline PageId page_at(std::span<const PageId> table, int position) {
  return table[position / kPagePositions];
}
inline int slot_of(int position) { return position % kPagePositions; }

}  // namespace lockstep::device::reference
