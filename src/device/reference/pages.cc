#include "device/reference/pages.h"

#include <algorithm>
#include <new>

#include "base/checked.h"

namespace lockstep::device::reference {
namespace {

constexpr uint64_t kMaxElements = uint64_t{1} << 40;  // of one group: beyond any machine's memory

Status check_group(const LayerGroup& group, int pages) {
  if (group.layers < 1 || group.kv_heads < 1 || group.k_head_size < 1 || group.v_head_size < 1 ||
      group.k_head_size % 2 != 0 || pages < 0) {
    return invalid_argument(
        "K/V pages: {} layers of {} heads of {} and {}, {} pages; allowed: at least 1, K even",
        group.layers, group.kv_heads, group.k_head_size, group.v_head_size, pages);
  }
  return ok_status();
}

}  // namespace

StatusOr<std::unique_ptr<ReferencePages>> ReferencePages::create(
    const StateLayout& layout, std::span<const int> pages_per_group) {
  LOCKSTEP_CHECK(layout.groups.size() == pages_per_group.size());
  std::vector<Group> groups;
  for (size_t g = 0; g < layout.groups.size(); ++g) {
    const LayerGroup& group = layout.groups[g];
    const int pages = pages_per_group[g];
    LOCKSTEP_RETURN_IF_ERROR(check_group(group, pages));
    const uint64_t factors[] = {uint64_t(pages), uint64_t(group.layers), uint64_t(group.kv_heads),
                                uint64_t(group.k_head_size + group.v_head_size),
                                uint64_t{kPagePositions}};
    const std::optional<uint64_t> elements = checked_product(factors);
    if (!elements || *elements > kMaxElements) {
      return resource_exhausted("K/V pages: {} pages of {} layers are too many", pages,
                                group.layers);
    }
    const auto vectors = size_t(pages) * group.layers * kPagePositions * group.kv_heads;
    try {
      groups.push_back({.k = std::vector<float>(vectors * group.k_head_size),
                        .v = std::vector<float>(vectors * group.v_head_size)});
    } catch (const std::bad_alloc&) {
      return resource_exhausted("no memory for {} elements of K/V pages", *elements);
    }
  }
  return std::unique_ptr<ReferencePages>(new ReferencePages(
      layout, {pages_per_group.begin(), pages_per_group.end()}, std::move(groups)));
}

StatusOr<int64_t> ReferencePages::page_bytes(const LayerGroup& group) {
  LOCKSTEP_RETURN_IF_ERROR(check_group(group, 0));
  return int64_t{4} * kPagePositions * group.layers * group.kv_heads *
         (group.k_head_size + group.v_head_size);
}

void ReferencePages::copy(const PageCopy& copy) {
  const LayerGroup& group = layout().groups[copy.group];
  for (int layer = 0; layer < group.layers; ++layer) {
    const StateLayer at{.group = copy.group, .index = layer};
    for (int slot = 0; slot < copy.positions; ++slot) {
      for (int head = 0; head < group.kv_heads; ++head) {
        std::copy_n(k(at, copy.from, slot, head), group.k_head_size, k(at, copy.to, slot, head));
        std::copy_n(v(at, copy.from, slot, head), group.v_head_size, v(at, copy.to, slot, head));
      }
    }
  }
}

ReferencePages::ReferencePages(StateLayout layout, std::vector<int> pages,
                               std::vector<Group> groups)
    : PagePool(std::move(layout), std::move(pages)), groups_(std::move(groups)) {}

int64_t ReferencePages::vector_index(StateLayer layer, PageId page, int slot, int head) const {
  LOCKSTEP_CHECK(0 <= page.value && page.value < pages(layer.group));
  const LayerGroup& group = group_of(layer);
  const int64_t layer_index = int64_t{page.value} * group.layers + layer.index;
  return (layer_index * kPagePositions + slot) * group.kv_heads + head;
}

const float* ReferencePages::k(StateLayer layer, PageId page, int slot, int head) const {
  const int64_t vector = vector_index(layer, page, slot, head);
  return groups_[layer.group].k.data() + vector * group_of(layer).k_head_size;
}

const float* ReferencePages::v(StateLayer layer, PageId page, int slot, int head) const {
  const int64_t vector = vector_index(layer, page, slot, head);
  return groups_[layer.group].v.data() + vector * group_of(layer).v_head_size;
}

float* ReferencePages::k(StateLayer layer, PageId page, int slot, int head) {
  return const_cast<float*>(std::as_const(*this).k(layer, page, slot, head));
}

float* ReferencePages::v(StateLayer layer, PageId page, int slot, int head) {
  return const_cast<float*>(std::as_const(*this).v(layer, page, slot, head));
}

}  // namespace lockstep::device::reference
