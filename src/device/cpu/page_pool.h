// The bytes of all pages on the CPU. Page p of a group is one piece of memory with K and V of every
// layer of the group: [layer][K/V head][K, V], each part in the layout of attention_kernels.h.
//
// Thread rule: as the device.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/profile.h"
#include "base/status.h"
#include "device/cpu/attention_kernels.h"
#include "device/cpu/memory.h"
#include "device/device.h"

namespace lockstep::device::cpu {

class CpuPagePool : public PagePool {
 public:
  // Untouched memory. invalid_argument where a group's geometry cannot be held (an odd K head
  // size), resource_exhausted where the bytes cannot be had. REQUIRES one count a group.
  static StatusOr<std::unique_ptr<CpuPagePool>> create(const StateLayout& layout,
                                                       std::span<const int> pages_per_group,
                                                       KvType type);

  static StatusOr<int64_t> page_bytes(const LayerGroup& group, KvType type);

  void copy(const PageCopy& copy);

  // REQUIRES a layer of the pool's layout.
  KvPages pages_of(StateLayer layer) const;
  const LayerGroup& group_of(StateLayer layer) const {
    return layout().groups[static_cast<size_t>(layer.group)];
  }

 private:
  struct Group {
    std::optional<Memory> memory;
    ptrdiff_t v_bytes;
    ptrdiff_t head_bytes;
    ptrdiff_t layer_bytes;
    ptrdiff_t page_bytes;
    int v_columns;
  };
  // All but the memory.
  static StatusOr<Group> lay_out(const LayerGroup& group, KvType type);
  static StatusOr<Group> create_group(const LayerGroup& group, int pages, KvType type);

  CpuPagePool(StateLayout layout, std::vector<int> pages, std::vector<Group> groups)
      : PagePool(std::move(layout), std::move(pages)), groups_(std::move(groups)) {}

  std::vector<Group> groups_;
};

}  // namespace lockstep::device::cpu
