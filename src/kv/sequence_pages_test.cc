#include "kv/sequence_pages.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "kv/testing/tokens.h"

namespace lockstep::kv {
namespace {

using testing::tokens_of;

constexpr int kPage = kPagePositions;

StateLayout layout_of(std::vector<LayerGroup> groups) {
  StateLayout layout;
  layout.groups = std::move(groups);
  return layout;
}

constexpr LayerGroup kFullGroup{};
constexpr LayerGroup kWindowGroup{.kind = StateKind::kWindow, .window = 40};

// One pool, with verbs for what an engine does to it.
class SequencePagesTest : public ::testing::Test {
 protected:
  using Sequence = std::unique_ptr<SequencePages>;
  using Tokens = std::vector<TokenId>;

  void make_pool(std::vector<LayerGroup> groups, std::vector<int> pages) {
    pool_.emplace(layout_of(std::move(groups)), pages);
  }
  void SetUp() override { make_pool({kFullGroup}, {8}); }
  void TearDown() override { expect_integrity(); }

  void expect_integrity() {
    const Status status = pool_->check_integrity();
    EXPECT_TRUE(status.ok()) << message_of(status);
  }
  Sequence open(const Tokens& prompt, std::string_view salt = "") {
    return SequencePages::adopt(*pool_, salt, prompt, static_cast<int>(prompt.size()) - 1);
  }
  // Computes all of `tokens` in one step.
  Status compute(SequencePages& pages, const Tokens& tokens) {
    LOCKSTEP_RETURN_IF_ERROR(
        pages.append(static_cast<int>(tokens.size()) - pages.positions(), copies_));
    pages.record(tokens);
    expect_integrity();
    return ok_status();
  }
  Sequence computed(const Tokens& tokens, std::string_view salt = "") {
    Sequence pages = open(tokens, salt);
    EXPECT_TRUE(compute(*pages, tokens).ok());
    return pages;
  }
  PageId page(const Sequence& pages, size_t i, size_t group = 0) {
    return pages->tables()[group][i];
  }
  int references(PageId page) { return pool_->pages(0).references(page); }
  int free_pages(int group = 0) { return pool_->pages(group).free_pages(); }

  std::optional<Pool> pool_;
  std::vector<PageCopy> copies_;
};

TEST_F(SequencePagesTest, GrowsByWholePages) {
  Sequence pages = open(tokens_of(1));
  ASSERT_TRUE(pages->append(1, copies_).ok());
  EXPECT_EQ(pages->tables()[0].size(), 1u);
  ASSERT_TRUE(pages->append(kPage - 1, copies_).ok());
  EXPECT_EQ(pages->tables()[0].size(), 1u);
  ASSERT_TRUE(pages->append(1, copies_).ok());
  EXPECT_EQ(pages->tables()[0].size(), 2u);
  EXPECT_TRUE(copies_.empty());
}

TEST_F(SequencePagesTest, GrowthThatDoesNotFitOneGroupTakesNothingFromAny) {
  make_pool({kFullGroup, kFullGroup}, {3, 2});
  Sequence pages = open(tokens_of(1));
  EXPECT_EQ(message_of(pages->append(3 * kPage, copies_)),
            "96 more positions need 3 more K/V pages; 2 of 2 are free");
  EXPECT_EQ(pages->positions(), 0);
  EXPECT_EQ(free_pages(0), 3);
  EXPECT_EQ(free_pages(1), 2);
}

TEST_F(SequencePagesTest, SharedPrefixHasOneReferenceEachAndTheIndexes) {
  const Tokens prompt = tokens_of(2 * kPage + 5);
  Sequence first = computed(prompt);
  Sequence second = open(prompt);
  EXPECT_EQ(second->positions(), 2 * kPage);
  EXPECT_EQ(page(first, 0), page(second, 0));
  EXPECT_EQ(page(first, 1), page(second, 1));
  EXPECT_EQ(references(page(first, 1)), 3);
}

// Two sequences share two pages; one is trimmed into the second.
TEST_F(SequencePagesTest, TrimAcrossASharedTailDropsItsReferencesAlone) {
  const Tokens prompt = tokens_of(2 * kPage + 5);
  Sequence kept = computed(prompt);
  Sequence trimmed = open(prompt);
  pool_->forget_prefixes();  // nothing to forget: both pin the path
  const std::vector<PageId> before(kept->tables()[0].begin(), kept->tables()[0].end());
  const PageId tail = page(kept, 1);
  const int shared = references(tail);
  const int free_before = free_pages();

  EXPECT_EQ(trimmed->trim(kPage), kPage);

  EXPECT_EQ(references(tail), shared - 1);
  EXPECT_EQ(free_pages(), free_before);
  EXPECT_EQ(trimmed->tables()[0].size(), 1u);
  EXPECT_TRUE(std::ranges::equal(kept->tables()[0], before));
}

TEST_F(SequencePagesTest, PageOfTwoSequencesWithoutAnIndexHasTwoReferencesAndThenOne) {
  Sequence kept = open(tokens_of(1));
  ASSERT_TRUE(kept->append(2 * kPage, copies_).ok());  // never recorded, so not in the index
  Sequence trimmed = kept->fork();
  EXPECT_EQ(references(page(kept, 1)), 2);
  trimmed->trim(kPage);
  EXPECT_EQ(references(page(kept, 1)), 1);
  EXPECT_EQ(references(page(kept, 0)), 2);
  EXPECT_EQ(trimmed->tables()[0].size(), 1u);
  EXPECT_EQ(free_pages(), 6);
}

TEST_F(SequencePagesTest, AppendIntoASharedPageCopiesItFirst) {
  Sequence kept = computed(tokens_of(2 * kPage));
  const PageId shared = page(kept, 1);
  kept->trim(kPage + 7);
  ASSERT_TRUE(kept->append(1, copies_).ok());
  ASSERT_EQ(copies_.size(), 1u);
  EXPECT_EQ(copies_[0].from, shared);
  EXPECT_EQ(copies_[0].to, page(kept, 1));
  EXPECT_EQ(copies_[0].positions, 7);
  EXPECT_NE(page(kept, 1), shared);
}

TEST_F(SequencePagesTest, ForkWritesIntoItsOwnCopyAndTheLastOneNeedsNone) {
  Sequence first = computed(tokens_of(10));
  Sequence second = first->fork();
  ASSERT_TRUE(second->append(1, copies_).ok());
  ASSERT_EQ(copies_.size(), 1u);
  EXPECT_EQ(copies_[0].positions, 10);
  ASSERT_TRUE(first->append(1, copies_).ok());
  EXPECT_EQ(copies_.size(), 1u);
  EXPECT_NE(page(first, 0), page(second, 0));
}

TEST_F(SequencePagesTest, CopyIsNotNeededOnceTheIndexGivesTheOtherPageUp) {
  make_pool({kFullGroup}, {2});
  Sequence pages = computed(tokens_of(2 * kPage));
  pages->trim(kPage + 1);
  ASSERT_TRUE(pages->append(1, copies_).ok());  // no page is free
  EXPECT_TRUE(copies_.empty());
}

TEST_F(SequencePagesTest, EverythingIsGivenBackAtTheEnd) {
  { Sequence pages = computed(tokens_of(40)); }
  EXPECT_EQ(free_pages(), 7);  // the index keeps one whole page
  pool_->forget_prefixes();
  EXPECT_EQ(free_pages(), 8);
}

TEST_F(SequencePagesTest, HitEndsWhereTheTokensDo) {
  Tokens prompt = tokens_of(3 * kPage);
  { Sequence pages = computed(prompt); }
  EXPECT_EQ(open(prompt)->positions(), 2 * kPage);  // the last token is computed again
  prompt[static_cast<size_t>(kPage) + 3] = tokens_of(1)[0];
  EXPECT_EQ(open(prompt)->positions(), kPage);
  prompt[0] = tokens_of(2)[1];
  EXPECT_EQ(open(prompt)->positions(), 0);
}

TEST_F(SequencePagesTest, SaltsNeverShare) {
  const Tokens prompt = tokens_of(3 * kPage);
  { Sequence pages = computed(prompt, "mine"); }
  EXPECT_EQ(open(prompt, "yours")->positions(), 0);
  EXPECT_EQ(open(prompt)->positions(), 0);
  EXPECT_EQ(open(prompt, "mine")->positions(), 2 * kPage);
}

TEST_F(SequencePagesTest, SamePageComputedTwiceIsKeptOnce) {
  const Tokens prompt = tokens_of(2 * kPage);
  Sequence first = open(prompt);
  Sequence second = open(prompt);
  ASSERT_TRUE(compute(*first, prompt).ok());
  ASSERT_TRUE(compute(*second, prompt).ok());
  EXPECT_EQ(page(first, 1), page(second, 1));
  EXPECT_EQ(free_pages(), 6);
}

TEST_F(SequencePagesTest, LongestUnusedPrefixGivesWayFirst) {
  const Tokens old_prompt = tokens_of(2 * kPage + 1, 1);
  const Tokens new_prompt = tokens_of(2 * kPage + 1, 2);
  { Sequence pages = computed(new_prompt); }
  { Sequence pages = computed(old_prompt); }
  { Sequence pages = open(new_prompt); }  // used again
  Sequence big = open(tokens_of(1));
  ASSERT_TRUE(big->append(6 * kPage, copies_).ok());
  EXPECT_EQ(open(old_prompt)->positions(), 0);
  EXPECT_EQ(open(new_prompt)->positions(), 2 * kPage);
}

TEST_F(SequencePagesTest, PinnedPrefixDoesNotGiveWay) {
  const Tokens prompt = tokens_of(2 * kPage);
  Sequence pages = computed(prompt);
  Sequence big = open(tokens_of(1));
  EXPECT_FALSE(big->append(7 * kPage, copies_).ok());
  EXPECT_TRUE(big->append(6 * kPage, copies_).ok());
}

TEST_F(SequencePagesTest, PagesBehindAWindowAreFreedOnceNoRowReadsThem) {
  make_pool({kFullGroup, kWindowGroup}, {8, 8});
  Sequence pages = open(tokens_of(1));
  const Tokens tokens = tokens_of(5 * kPage);
  for (int n = 1; n <= 5 * kPage; ++n) {
    ASSERT_TRUE(compute(*pages, Tokens(tokens.begin(), tokens.begin() + n)).ok());
    pool_->forget_prefixes();
    const int first = std::max(0, n - kWindowGroup.window + 1) / kPage;
    for (int i = 0; i < (n + kPage - 1) / kPage; ++i) {
      EXPECT_EQ(page(pages, static_cast<size_t>(i), 1).value >= 0, i >= first) << n << " " << i;
      EXPECT_GE(page(pages, static_cast<size_t>(i), 0).value, 0);
    }
  }
}

TEST_F(SequencePagesTest, HitNeedsOnlyTheWindowBeforeIt) {
  make_pool({kFullGroup, kWindowGroup}, {8, 8});
  const Tokens prompt = tokens_of(5 * kPage);
  { Sequence pages = computed(prompt); }
  ASSERT_TRUE(pool_->index().evict(1));  // the page of positions [0, 32)
  Sequence hit = open(prompt);
  EXPECT_EQ(hit->positions(), 4 * kPage);
  EXPECT_EQ(page(hit, 0, 1).value, -1);
  EXPECT_GE(page(hit, 3, 1).value, 0);
}

TEST_F(SequencePagesTest, HitStopsWhereAWindowsPageIsGone) {
  make_pool({kFullGroup, kWindowGroup}, {8, 8});
  const Tokens prompt = tokens_of(5 * kPage);
  { Sequence pages = computed(prompt); }
  ASSERT_EQ(open(Tokens(prompt.begin(), prompt.begin() + kPage + 1))->positions(), kPage);
  // All of the window's pages but the first, which has just been used.
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(pool_->index().evict(1));
  EXPECT_EQ(open(prompt)->positions(), kPage);
}

TEST_F(SequencePagesTest, RewindBehindAWindowThatMovedOnKeepsNothing) {
  make_pool({kFullGroup, kWindowGroup}, {8, 8});
  Sequence pages = computed(tokens_of(5 * kPage));
  EXPECT_EQ(pages->trim(5 * kPage - 1), 5 * kPage - 1);
  EXPECT_EQ(pages->trim(kPage), 0);
  EXPECT_EQ(pages->positions(), 0);
}

// Whatever is done in whatever order: every page is accounted for, and what a table says it holds
// is what was computed there. Contents are simulated as the tokens up to a page.
TEST_F(SequencePagesTest, RandomOperationsKeepEveryPagesContents) {
  make_pool({kFullGroup, kWindowGroup}, {24, 20});
  using Contents = std::vector<std::vector<TokenId>>;  // [page]: tokens of its positions
  std::vector<Contents> contents = {Contents(24), Contents(20)};
  struct Live {
    Sequence pages;
    Tokens tokens;
  };
  std::vector<Live> live;
  CounterRng rng(7);
  for (int round = 0; round < 20000; ++round) {
    const uint32_t action = rng.below(10);
    if (live.empty() || (action == 0 && live.size() < 6)) {
      // Few kinds of prompts, so that they share.
      Tokens prompt = tokens_of(1 + static_cast<int>(rng.below(150)), rng.below(3));
      Sequence pages = open(prompt);
      prompt.erase(prompt.begin() + pages->positions(), prompt.end());
      live.push_back({std::move(pages), std::move(prompt)});
      continue;
    }
    const size_t at = rng.below(static_cast<uint32_t>(live.size()));
    Live& one = live[at];
    if (action == 1) {
      live.erase(live.begin() + static_cast<ptrdiff_t>(at));
    } else if (action == 2 && live.size() < 6) {
      live.push_back({one.pages->fork(), one.tokens});
    } else if (action == 3) {
      const int kept = one.pages->trim(static_cast<int>(rng.below(200)));
      one.tokens.erase(one.tokens.begin() + kept, one.tokens.end());
    } else {
      const int count = 1 + static_cast<int>(rng.below(70));
      copies_.clear();
      if (!one.pages->append(count, copies_).ok()) continue;
      for (const PageCopy& copy : copies_) {
        auto& group = contents[static_cast<size_t>(copy.group)];
        const auto& from = group[static_cast<size_t>(copy.from.value)];
        group[static_cast<size_t>(copy.to.value)] =
            Tokens(from.begin(), from.begin() + copy.positions);
      }
      const Tokens more = tokens_of(count, rng.below(2));
      for (const TokenId token : more) {
        const size_t position = one.tokens.size();
        one.tokens.push_back(token);
        for (size_t g = 0; g < 2; ++g) {
          auto& written = contents[g][static_cast<size_t>(page(one.pages, position / 32, g).value)];
          written.resize(position % 32, token);
          written.push_back(token);
        }
      }
      one.pages->record(one.tokens);
    }
    expect_integrity();
    for (const Live& each : live) {
      for (size_t g = 0; g < 2; ++g) {
        for (size_t p = 0; p < each.tokens.size(); ++p) {
          const PageId held = page(each.pages, p / 32, g);
          if (held.value < 0) continue;
          ASSERT_EQ(contents[g][static_cast<size_t>(held.value)][p % 32], each.tokens[p])
              << "round " << round;
        }
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::kv
