#include "device/cpu/page_pool.h"

#include <cstring>
#include <limits>
#include <optional>

#include "base/checked.h"

namespace lockstep::device::cpu {
namespace {

static_assert(kPageKeys == kPagePositions);

constexpr int kVectorColumns = 16;  // the widest vector: V rows are whole ones on every machine
constexpr int kAlignment = 64;
constexpr int kMaxHeadSize = 1 << 16;
constexpr int kMaxCount = 1 << 16;

bool within(int value, int largest) { return 1 <= value && value <= largest; }

}  // namespace

StatusOr<CpuPagePool::Group> CpuPagePool::lay_out(const LayerGroup& group, KvType type) {
  if (!within(group.k_head_size, kMaxHeadSize) || group.k_head_size % 2 != 0 ||
      !within(group.v_head_size, kMaxHeadSize) || !within(group.kv_heads, kMaxCount) ||
      !within(group.layers, kMaxCount)) {
    return invalid_argument(
        "K/V pages of {} layers, {} heads of {} and {}; allowed: 1 to {} layers and heads, sizes 1 "
        "to {}, K even",
        group.layers, group.kv_heads, group.k_head_size, group.v_head_size, kMaxCount,
        kMaxHeadSize);
  }
  const int64_t element = kv_bytes(type);
  const int64_t v_columns = round_up(group.v_head_size, kVectorColumns);
  const int64_t v_bytes = round_up(group.k_head_size * kPageKeys * element, kAlignment);
  const int64_t head_bytes = v_bytes + round_up(v_columns * kPageKeys * element, kAlignment);
  const int64_t layer_bytes = head_bytes * group.kv_heads;
  return Group{.memory = std::nullopt,
               .v_bytes = v_bytes,
               .head_bytes = head_bytes,
               .layer_bytes = layer_bytes,
               .page_bytes = layer_bytes * group.layers,
               .v_columns = static_cast<int>(v_columns)};
}

StatusOr<int64_t> CpuPagePool::page_bytes(const LayerGroup& group, KvType type) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Group laid_out, lay_out(group, type));
  return laid_out.page_bytes;
}

StatusOr<CpuPagePool::Group> CpuPagePool::create_group(const LayerGroup& group, int pages,
                                                       KvType type) {
  LOCKSTEP_ASSIGN_OR_RETURN(Group out, lay_out(group, type));
  const uint64_t factors[] = {static_cast<uint64_t>(out.page_bytes), static_cast<uint64_t>(pages)};
  const std::optional<uint64_t> bytes = checked_product(factors);
  if (!bytes || *bytes > static_cast<uint64_t>(std::numeric_limits<ptrdiff_t>::max())) {
    return resource_exhausted("K/V pages: {} of {} bytes are more than can be addressed", pages,
                              out.page_bytes);
  }
  LOCKSTEP_ASSIGN_OR_RETURN(out.memory, Memory::map(*bytes, "K/V pages", PageSize::kHuge));
  return out;
}

StatusOr<std::unique_ptr<CpuPagePool>> CpuPagePool::create(const StateLayout& layout,
                                                           std::span<const int> pages_per_group,
                                                           KvType type) {
  LOCKSTEP_CHECK(layout.groups.size() == pages_per_group.size());
  std::vector<Group> groups;
  for (size_t g = 0; g < layout.groups.size(); ++g) {
    LOCKSTEP_ASSIGN_OR_RETURN(Group group,
                              create_group(layout.groups[g], pages_per_group[g], type));
    groups.push_back(std::move(group));
  }
  return std::unique_ptr<CpuPagePool>(
      new CpuPagePool(layout, {pages_per_group.begin(), pages_per_group.end()}, std::move(groups)));
}

void CpuPagePool::copy(const PageCopy& copy) {
  const Group& group = groups_[static_cast<size_t>(copy.group)];
  std::byte* const base = group.memory->data();
  std::memcpy(base + copy.to.value * group.page_bytes, base + copy.from.value * group.page_bytes,
              static_cast<size_t>(group.page_bytes));
}

KvPages CpuPagePool::pages_of(StateLayer layer) const {
  const Group& group = groups_[static_cast<size_t>(layer.group)];
  const LayerGroup& shape = group_of(layer);
  return {.base = group.memory->data() + layer.index * group.layer_bytes,
          .page_bytes = group.page_bytes,
          .head_bytes = group.head_bytes,
          .v_bytes = group.v_bytes,
          .kv_heads = shape.kv_heads,
          .k_head_size = shape.k_head_size,
          .v_head_size = shape.v_head_size,
          .v_columns = group.v_columns};
}

}  // namespace lockstep::device::cpu
