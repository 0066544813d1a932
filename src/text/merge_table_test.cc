#include "text/merge_table.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

#include "formats/testing/refusal.h"
#include "text/rank_queue.h"

namespace lockstep::text {
namespace {

// The definition: find the best pair, merge it, begin again.
void merge_naively(const std::vector<RankedMerge>& merges, std::vector<int32_t>& symbols) {
  while (true) {
    const RankedMerge* best = nullptr;
    size_t best_at = 0;
    for (size_t at = 0; at + 1 < symbols.size(); ++at) {
      for (const RankedMerge& m : merges) {
        if (m.left != symbols[at] || m.right != symbols[at + 1]) continue;
        if (best != nullptr && best->rank <= m.rank) continue;
        best = &m;
        best_at = at;
      }
    }
    if (best == nullptr) return;
    symbols[best_at] = best->result;
    symbols.erase(symbols.begin() + static_cast<ptrdiff_t>(best_at) + 1);
  }
}

// Merges of texts over {0, 1}, so that many compete; each token has one text. With `all_ways`
// every pair that makes a text is a merge, and ranks are shared.
std::vector<RankedMerge> random_merges(std::mt19937& random, bool all_ways) {
  std::vector<std::string> texts = {"0", "1"};
  std::vector<RankedMerge> merges;
  while (texts.size() < 20) {
    const auto left = static_cast<int32_t>(random() % texts.size());
    const auto right = static_cast<int32_t>(random() % texts.size());
    const std::string text = texts[left] + texts[right];
    if (std::find(texts.begin(), texts.end(), text) != texts.end()) continue;
    const auto id = static_cast<int32_t>(texts.size());
    const auto rank = static_cast<uint32_t>(all_ways ? random() % 8 : id);
    merges.push_back({left, right, id, rank});
    for (int32_t l = 0; all_ways && l < id; ++l) {
      for (int32_t r = 0; r < id; ++r) {
        if (texts[l] + texts[r] == text && l != left) merges.push_back({l, r, id, rank});
      }
    }
    texts.push_back(text);
  }
  return merges;
}

void expect_definition(bool all_ways) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const auto merges = random_merges(random, all_ways);
    const auto table = MergeTable::create(merges);
    ASSERT_TRUE(table.ok()) << table.status();
    MergeTable::Scratch scratch;
    for (int word = 0; word < 20; ++word) {
      std::vector<int32_t> symbols;
      for (size_t i = random() % 40; i > 0; --i) {
        symbols.push_back(static_cast<int32_t>(random() % 2));
      }
      std::vector<int32_t> expected = symbols;
      merge_naively(merges, expected);
      table->apply(symbols, scratch);
      EXPECT_EQ(symbols, expected);
    }
  }
}

TEST(MergeTable, EqualsTheDefinitionOnRandomTables) { expect_definition(/*all_ways=*/false); }

TEST(MergeTable, EqualsTheDefinitionWhereRanksAreShared) { expect_definition(/*all_ways=*/true); }

TEST(MergeTable, LongRunsMergeLikeShortOnes) {
  std::mt19937 random(8);
  for (int round = 0; round < 40; ++round) {
    const auto merges = random_merges(random, /*all_ways=*/round % 2 == 0);
    const auto table = MergeTable::create(merges);
    ASSERT_TRUE(table.ok()) << table.status();
    MergeTable::Scratch scratch;
    std::vector<int32_t> symbols;
    for (int i = 0; i < 2000; ++i) symbols.push_back(static_cast<int32_t>(random() % 2));
    std::vector<int32_t> expected = symbols;
    merge_naively(merges, expected);
    table->apply(symbols, scratch);
    EXPECT_EQ(symbols, expected);
  }
}

TEST(RankQueue, GivesTheLowestRankThenTheLowestPosition) {
  std::mt19937 random(9);
  RankQueue queue;
  std::set<std::pair<uint32_t, int32_t>> expected;
  for (int step = 0; step < 20'000; ++step) {
    if (random() % 5 < 3) {
      const auto rank = static_cast<uint32_t>(random() % 7);
      const auto position = static_cast<int32_t>(random() % 1'000'000);
      if (expected.emplace(rank, position).second) queue.push(rank, position);
    } else if (!expected.empty()) {
      ASSERT_FALSE(queue.empty());
      EXPECT_EQ(queue.pop(), *expected.begin());
      expected.erase(expected.begin());
    }
  }
}

TEST(MergeTable, SymbolsThatNoMergeJoinsAreApart) {
  const auto table = MergeTable::create(std::vector<RankedMerge>{{0, 1, 2, 0}, {3, 3, 4, 1}});
  ASSERT_TRUE(table.ok()) << table.status();
  MergeTable::Scratch scratch;
  std::vector<int32_t> symbols = {3, 0, 1, 3, 3, 3, 7, 1, 0, 1};
  table->apply(symbols, scratch);
  EXPECT_EQ(symbols, (std::vector<int32_t>{3, 2, 4, 3, 7, 1, 2}));
}

TEST(MergeTable, CyclesAndRepeatedPairsAreRefused) {
  using formats::expect_refused;
  expect_refused(MergeTable::create(std::vector<RankedMerge>{{0, 1, 2, 0}, {2, 1, 0, 1}}),
                 "out of itself");
  expect_refused(MergeTable::create(std::vector<RankedMerge>{{0, 1, 1, 0}}), "out of itself");
  expect_refused(MergeTable::create(std::vector<RankedMerge>{{0, 1, 2, 0}, {0, 1, 3, 1}}), "twice");
}

}  // namespace
}  // namespace lockstep::text
