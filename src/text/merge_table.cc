#include "text/merge_table.h"

#include <algorithm>
#include <functional>

namespace lockstep::text {
namespace {

constexpr int kJointBits = 21;
constexpr int32_t kNone = -1;
constexpr int32_t kMergedAway = -1;

uint64_t joint_index(int32_t left, int32_t right) {
  const uint64_t pair = uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  return (pair * 0x9e3779b97f4a7c15u) >> (64 - kJointBits);
}

// The symbol at one end of every token: of a merge's result the one of that part, and of a token
// that no merge makes the token itself.
StatusOr<std::vector<int32_t>> end_symbols(std::span<const RankedMerge> merges, size_t ids,
                                           int32_t RankedMerge::*part) {
  std::vector<int32_t> part_of(ids, kNone);
  for (const RankedMerge& m : merges) part_of[m.result] = m.*part;
  std::vector<int32_t> end(ids, kNone);
  std::vector<int32_t> path;
  for (size_t id = 0; id < ids; ++id) {
    path.clear();
    auto at = static_cast<int32_t>(id);
    while (end[at] == kNone && part_of[at] != kNone) {
      if (path.size() > merges.size()) {
        return invalid_argument("merges make token {} out of itself", id);
      }
      path.push_back(at);
      at = part_of[at];
    }
    const int32_t symbol = end[at] == kNone ? at : end[at];
    end[at] = symbol;
    for (const int32_t through : path) end[through] = symbol;
  }
  return end;
}

}  // namespace

StatusOr<MergeTable> MergeTable::create(std::span<const RankedMerge> merges) {
  MergeTable table;
  table.merges_.reserve(merges.size());
  for (size_t i = 0; i < merges.size(); ++i) {
    const RankedMerge& m = merges[i];
    if (!table.merges_.emplace(key(m.left, m.right), Merge{m.rank, m.result}).second) {
      return invalid_argument("merge {} of tokens {} and {} is there twice", i, m.left, m.right);
    }
  }
  LOCKSTEP_RETURN_IF_ERROR(table.find_joints(merges));
  return table;
}

// Inside a token's text every gap was closed by the merge that joined what stands on its two sides,
// so the gaps of all merges are those of all tokens.
Status MergeTable::find_joints(std::span<const RankedMerge> merges) {
  int32_t most = 0;
  for (const RankedMerge& m : merges) most = std::max({most, m.left, m.right, m.result});
  const size_t ids = size_t{1} + static_cast<size_t>(most);
  LOCKSTEP_ASSIGN_OR_RETURN(const auto first, end_symbols(merges, ids, &RankedMerge::left));
  LOCKSTEP_ASSIGN_OR_RETURN(const auto last, end_symbols(merges, ids, &RankedMerge::right));
  joints_.assign(size_t{1} << (kJointBits - 6), 0);
  is_result_.assign(ids, false);
  for (const RankedMerge& m : merges) {
    is_result_[m.result] = true;
    const uint64_t bit = joint_index(last[m.left], first[m.right]);
    joints_[bit / 64] |= uint64_t{1} << bit % 64;
  }
  return ok_status();
}

// A symbol that is itself a merge's result stands for its parts' ends too.
bool MergeTable::may_join(int32_t left, int32_t right) const {
  const auto made = [&](int32_t id) {
    return static_cast<size_t>(id) < is_result_.size() && is_result_[id];
  };
  const uint64_t bit = joint_index(left, right);
  return (joints_[bit / 64] >> bit % 64 & 1) != 0 || made(left) || made(right);
}

// A gap that no merge can close cuts the symbols into runs that do not know of each other, each
// small enough to stay in cache.
void MergeTable::apply(std::vector<int32_t>& symbols, Scratch& scratch) const {
  if (merges_.empty()) return;
  for (size_t begin = 0; begin < symbols.size();) {
    size_t end = begin + 1;
    while (end < symbols.size() && may_join(symbols[end - 1], symbols[end])) ++end;
    merge_run(std::span(symbols).subspan(begin, end - begin), scratch);
    begin = end;
  }
  std::erase(symbols, kMergedAway);
}

// Symbols are a list linked by index; a heap holds the ranked pairs by (rank, left index). Entries
// are not taken out when a merge beside them changes their pair: a popped entry counts only if the
// pair that now stands there has its rank, and such a pair has put the same entry there itself.
void MergeTable::merge_run(std::span<int32_t> symbols, Scratch& scratch) const {
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
}

}  // namespace lockstep::text
