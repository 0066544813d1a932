#include "text/merge_table.h"

#include <gtest/gtest.h>

#include <random>

namespace lockstep::text {
namespace {

using Pairs = std::vector<std::pair<int32_t, int32_t>>;

// The definition: find the best pair, merge it, begin again.
void merge_naively(const Pairs& pairs, const std::vector<int32_t>& results,
                   std::vector<int32_t>& symbols) {
  while (true) {
    size_t best_rank = pairs.size();
    size_t best_at = 0;
    for (size_t at = 0; at + 1 < symbols.size(); ++at) {
      for (size_t rank = 0; rank < best_rank; ++rank) {
        if (pairs[rank] == std::pair(symbols[at], symbols[at + 1])) {
          best_rank = rank;
          best_at = at;
        }
      }
    }
    if (best_rank == pairs.size()) return;
    symbols[best_at] = results[best_rank];
    symbols.erase(symbols.begin() + static_cast<ptrdiff_t>(best_at) + 1);
  }
}

TEST(MergeTable, EqualsTheDefinitionOnRandomTables) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    // Texts over {0, 1}, so that many merges compete; each token has one text.
    std::vector<std::string> texts = {"0", "1"};
    Pairs pairs;
    std::vector<int32_t> results;
    while (texts.size() < 20) {
      const auto left = static_cast<int32_t>(random() % texts.size());
      const auto right = static_cast<int32_t>(random() % texts.size());
      const std::string text = texts[left] + texts[right];
      if (std::find(texts.begin(), texts.end(), text) != texts.end()) continue;
      pairs.emplace_back(left, right);
      results.push_back(static_cast<int32_t>(texts.size()));
      texts.push_back(text);
    }
    const auto table = MergeTable::create(pairs, results);
    ASSERT_TRUE(table.ok()) << table.status();
    MergeTable::Scratch scratch;
    for (int word = 0; word < 20; ++word) {
      std::vector<int32_t> symbols;
      for (size_t i = random() % 40; i > 0; --i) symbols.push_back(random() % 2);
      std::vector<int32_t> expected = symbols;
      merge_naively(pairs, results, expected);
      table->apply(symbols, scratch);
      EXPECT_EQ(symbols, expected);
    }
  }
}

}  // namespace
}  // namespace lockstep::text
