// Byte-pair merging: the ranked pairs of a vocabulary, and merging a word's symbols by them.
//
// Of all neighbouring pairs the one of lowest rank is merged, the leftmost among equals, until no
// pair has a rank. n symbols take O(n log n).
//
// Thread rule: const methods from any thread, each with its own scratch.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"

namespace lockstep::text {

struct RankedMerge {
  int32_t left;
  int32_t right;
  int32_t result;
  uint32_t rank;
};

class MergeTable {
 public:
  // Memory that calls reuse.
  struct Scratch {
    std::vector<int32_t> next;
    std::vector<int32_t> previous;
    std::vector<uint64_t> heap;
  };

  MergeTable() = default;
  // invalid_argument for a pair that is there twice and for a token that is made out of itself.
  // REQUIRES ids in [0, 2^31) and that merges with the same result have the same first and last
  // symbol, as they spell the same text.
  static StatusOr<MergeTable> create(std::span<const RankedMerge> merges);

  // REQUIRES fewer than 2^31 symbols.
  void apply(std::vector<int32_t>& symbols, Scratch& scratch) const;

 private:
  struct Merge {
    uint32_t rank;
    int32_t result;
  };
  static uint64_t key(int32_t left, int32_t right) {
    return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  }
  const Merge* find(int32_t left, int32_t right) const {
    const auto found = merges_.find(key(left, right));
    return found == merges_.end() ? nullptr : &found->second;
  }
  Status find_joints(std::span<const RankedMerge> merges);
  bool may_join(int32_t left, int32_t right) const;
  void merge_run(std::span<int32_t> symbols, Scratch& scratch) const;
  template <class Queue>
  void merge_with(std::span<int32_t> symbols, Scratch& scratch, Queue& queue) const;

  absl::flat_hash_map<uint64_t, Merge> merges_;  // looked up only: its order reaches nothing
  // Between which symbols some merge could join what stands left and right of the gap: a bit for
  // each hash of a pair, so a set bit may be wrong and a clear one never is.
  std::vector<uint64_t> joints_;
  std::vector<bool> is_result_;  // [id]
};

}  // namespace lockstep::text
