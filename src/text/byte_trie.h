// All texts of a set that a text begins with, shortest first.
//
// Thread rule: immutable after create.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace lockstep::text {

class ByteTrie {
 public:
  static constexpr size_t kMaxNodes = size_t{1} << 24;  // XLM-R's 250,000 tokens need 2^20

  ByteTrie() = default;
  // invalid_argument for a text that is empty or there twice, and past kMaxNodes. REQUIRES values
  // that are not negative.
  static StatusOr<ByteTrie> create(std::vector<std::pair<std::string_view, int32_t>> entries);

  // Calls found(bytes, value) for each text that `text` begins with.
  template <class Found>
  void prefixes(std::string_view text, Found found) const {
    uint32_t node = 0;
    for (size_t length = 1; length <= text.size(); ++length) {
      node = child(node, text[length - 1]);
      if (node == kNoNode) return;
      if (values_[node] != kNoValue) found(length, values_[node]);
    }
  }

 private:
  static constexpr uint32_t kNoNode = UINT32_MAX;
  static constexpr int32_t kNoValue = -1;

  uint32_t child(uint32_t node, char label) const {
    if (node + 1 >= first_child_.size()) return kNoNode;  // an empty trie
    const uint32_t begin = first_child_[node];
    const std::string_view labels(labels_.data() + begin, first_child_[node + 1] - begin);
    const size_t at = labels.find(label);
    return at == labels.npos ? kNoNode : begin + static_cast<uint32_t>(at);
  }

  // Nodes in breadth-first order, so that a node's children are neighbours: of node n they are
  // [first_child_[n], first_child_[n + 1]).
  std::vector<uint32_t> first_child_;
  std::vector<char> labels_;     // of the edge into each node
  std::vector<int32_t> values_;  // kNoValue: no text ends here
};

}  // namespace lockstep::text
