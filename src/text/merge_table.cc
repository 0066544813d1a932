#include "text/merge_table.h"

#include <algorithm>
#include <functional>

#include "text/rank_queue.h"

namespace lockstep::text {
namespace {

constexpr int kJointBits = 21;
constexpr int32_t kNone = -1;
constexpr int32_t kMergedAway = -1;

// Symbols from which on a heap over all pairs leaves the cache.
constexpr size_t kLongRun = 1024;

// (rank, left index), the lowest first, in memory that runs share.
class PairHeap {
 public:
  explicit PairHeap(std::vector<uint64_t>& entries) : entries_(entries) { entries_.clear(); }
  bool empty() const { return entries_.empty(); }
  void push(uint32_t rank, int32_t left) {
    entries_.push_back(uint64_t{rank} << 32 | static_cast<uint32_t>(left));
    std::ranges::push_heap(entries_, std::greater{});
  }
  std::pair<uint32_t, int32_t> pop() {
    std::ranges::pop_heap(entries_, std::greater{});
    const uint64_t entry = entries_.back();
    entries_.pop_back();
    return {static_cast<uint32_t>(entry >> 32), static_cast<int32_t>(entry)};
  }

 private:
  std::vector<uint64_t>& entries_;
};

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

// Symbols are a list linked by index; a queue holds the ranked pairs by (rank, left index). Entries
// are not taken out when a merge beside them changes their pair: a popped entry counts only if the
// pair that now stands there has its rank, and such a pair has put the same entry there itself.
template <class Queue>
void MergeTable::merge_with(std::span<int32_t> symbols, Scratch& scratch, Queue& queue) const {
  const auto count = static_cast<int32_t>(symbols.size());
  std::vector<int32_t>& next = scratch.next;
  std::vector<int32_t>& previous = scratch.previous;
  next.resize(symbols.size());
  previous.resize(symbols.size());
  for (int32_t i = 0; i < count; ++i) {
    next[i] = i + 1;
    previous[i] = i - 1;
  }
  const auto push = [&](int32_t left) {
    if (const Merge* merge = find(symbols[left], symbols[next[left]])) {
      queue.push(merge->rank, left);
    }
  };
  for (int32_t i = 0; i + 1 < count; ++i) push(i);
  while (!queue.empty()) {
    const auto [rank, left] = queue.pop();
    if (symbols[left] == kMergedAway || next[left] == count) continue;
    const int32_t right = next[left];
    const Merge* merge = find(symbols[left], symbols[right]);
    if (merge == nullptr || merge->rank != rank) continue;
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

void MergeTable::merge_run(std::span<int32_t> symbols, Scratch& scratch) const {
  if (symbols.size() < 2) return;
  if (symbols.size() < kLongRun) {
    PairHeap heap(scratch.heap);
    merge_with(symbols, scratch, heap);
  } else {
    RankQueue queue;
    merge_with(symbols, scratch, queue);
  }
}

}  // namespace lockstep::text
