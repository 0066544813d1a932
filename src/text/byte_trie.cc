#include "text/byte_trie.h"

#include <algorithm>

#include "base/text.h"

namespace lockstep::text {
namespace {

// A node on the way: the sorted entries below it, which share their first `depth` bytes.
struct Range {
  size_t begin;
  size_t end;
  size_t depth;
};

}  // namespace

StatusOr<ByteTrie> ByteTrie::create(std::vector<std::pair<std::string_view, int32_t>> entries) {
  std::ranges::sort(entries);
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].first.empty()) {
      return invalid_argument("token {} has no text", entries[i].second);
    }
    if (i > 0 && entries[i].first == entries[i - 1].first) {
      return invalid_argument("tokens {} and {} have one text, {}", entries[i - 1].second,
                              entries[i].second, quote_text(entries[i].first));
    }
  }
  ByteTrie trie;
  trie.labels_ = {'\0'};
  trie.values_ = {kNoValue};
  std::vector<Range> level = {{0, entries.size(), 0}};
  while (!level.empty()) {
    std::vector<Range> next;
    for (Range node : level) {
      trie.first_child_.push_back(static_cast<uint32_t>(trie.labels_.size()));
      // The text that ends at this node sorts before those that go on.
      if (node.begin < node.end && entries[node.begin].first.size() == node.depth) ++node.begin;
      while (node.begin < node.end) {
        const auto label_of = [&](size_t i) { return entries[i].first[node.depth]; };
        const char label = label_of(node.begin);
        size_t end = node.begin + 1;
        while (end < node.end && label_of(end) == label) ++end;
        if (trie.labels_.size() == kMaxNodes) {
          return invalid_argument("the tokens' texts need more than {} nodes", kMaxNodes);
        }
        const auto& [text, value] = entries[node.begin];
        trie.labels_.push_back(label);
        trie.values_.push_back(text.size() == node.depth + 1 ? value : kNoValue);
        next.push_back({node.begin, end, node.depth + 1});
        node.begin = end;
      }
    }
    level = std::move(next);
  }
  trie.first_child_.push_back(static_cast<uint32_t>(trie.labels_.size()));
  return trie;
}

}  // namespace lockstep::text
