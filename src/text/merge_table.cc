#include "text/merge_table.h"

#include <algorithm>
#include <functional>

namespace lockstep::text {

StatusOr<MergeTable> MergeTable::create(std::span<const std::pair<int32_t, int32_t>> pairs,
                                        std::span<const int32_t> results) {
  MergeTable table;
  table.merges_.reserve(pairs.size());
  for (size_t rank = 0; rank < pairs.size(); ++rank) {
    const auto [left, right] = pairs[rank];
    const Merge merge{static_cast<uint32_t>(rank), results[rank]};
    if (const auto [at, added] = table.merges_.emplace(key(left, right), merge); !added) {
      return invalid_argument("merge {} of tokens {} and {} is already there as merge {}", rank,
                              left, right, at->second.rank);
    }
  }
  return table;
}

// Symbols are a list linked by index; a heap holds the ranked pairs by (rank, left index). Entries
// are not taken out when a merge beside them changes their pair: a popped entry counts only if the
// pair that now stands there has its rank. A changed pair spells a longer text, so it never has the
// rank of the pair before it.
void MergeTable::apply(std::vector<int32_t>& symbols, Scratch& scratch) const {
  const auto count = static_cast<int32_t>(symbols.size());
  if (count < 2) return;
  auto& [next, previous, heap] = scratch;
  next.resize(symbols.size());
  previous.resize(symbols.size());
  heap.clear();
  const auto rank_at = [&](int32_t left) { return find(symbols[left], symbols[next[left]]); };
  const auto entry = [](uint32_t rank, int32_t left) {
    return uint64_t{rank} << 32 | static_cast<uint32_t>(left);
  };
  for (int32_t i = 0; i < count; ++i) {
    next[i] = i + 1;
    previous[i] = i - 1;
  }
  for (int32_t i = 0; i + 1 < count; ++i) {
    if (const Merge* merge = rank_at(i)) heap.push_back(entry(merge->rank, i));
  }
  std::ranges::make_heap(heap, std::greater{});

  constexpr int32_t kMergedAway = -1;
  const auto push = [&](int32_t left) {
    if (const Merge* merge = rank_at(left)) {
      heap.push_back(entry(merge->rank, left));
      std::ranges::push_heap(heap, std::greater{});
    }
  };
  while (!heap.empty()) {
    std::ranges::pop_heap(heap, std::greater{});
    const auto rank = static_cast<uint32_t>(heap.back() >> 32);
    const auto left = static_cast<int32_t>(heap.back());
    heap.pop_back();
    if (symbols[left] == kMergedAway || next[left] == count) continue;
    const Merge* merge = rank_at(left);
    if (merge == nullptr || merge->rank != rank) continue;
    const int32_t right = next[left];
    symbols[left] = merge->result;
    symbols[right] = kMergedAway;
    next[left] = next[right];
    if (next[left] < count) {
      previous[next[left]] = left;
      push(left);
    }
    if (previous[left] >= 0) push(previous[left]);
  }
  std::erase(symbols, kMergedAway);
}

}  // namespace lockstep::text
