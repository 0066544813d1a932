#include <gtest/gtest.h>

#include "kv/page_allocator.h"
#include "kv/sequence_pages.h"

namespace lockstep::kv {
namespace {

TEST(PageAllocator, HandsOutEachPageOnceAndThenSaysHowManyThereAre) {
  PageAllocator pages(2);
  const PageId first = pages.allocate().value();
  const PageId second = pages.allocate().value();
  EXPECT_NE(first, second);
  const auto third = pages.allocate();
  EXPECT_EQ(third.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(message_of(third.status()), "all 2 K/V pages are in use");
}

TEST(PageAllocator, PageIsFreeOnlyWhenItsLastReferenceGoes) {
  PageAllocator pages(1);
  const PageId page = pages.allocate().value();
  pages.add_reference(page);
  pages.release(page);
  EXPECT_EQ(pages.free_pages(), 0);
  EXPECT_TRUE(pages.check_integrity().ok());
  pages.release(page);
  EXPECT_EQ(pages.free_pages(), 1);
  EXPECT_TRUE(pages.check_integrity().ok());
}

TEST(PageAllocator, ReleasingAFreePageIsOurOwnBug) {
  PageAllocator pages(1);
  const PageId page = pages.allocate().value();
  pages.release(page);
  EXPECT_DEATH(pages.release(page), "references");
}

class SequencePagesTest : public testing::Test {
 protected:
  std::vector<PageAllocator> groups_ = {PageAllocator(3), PageAllocator(2)};
  void TearDown() override {
    for (const PageAllocator& group : groups_) EXPECT_TRUE(group.check_integrity().ok());
  }
};

TEST_F(SequencePagesTest, GrowsByWholePagesInEveryGroup) {
  SequencePages pages(groups_);
  ASSERT_TRUE(pages.grow(1).ok());
  EXPECT_EQ(pages.tables()[0].size(), 1u);
  ASSERT_TRUE(pages.grow(kPagePositions).ok());
  EXPECT_EQ(pages.tables()[1].size(), 1u);
  ASSERT_TRUE(pages.grow(kPagePositions + 1).ok());
  EXPECT_EQ(pages.tables()[0].size(), 2u);
}

TEST_F(SequencePagesTest, GrowthThatDoesNotFitOneGroupTakesNothingFromAny) {
  SequencePages pages(groups_);
  const Status status = pages.grow(3 * kPagePositions);
  EXPECT_EQ(message_of(status), "96 positions need 3 more K/V pages; 2 of 2 are free");
  EXPECT_EQ(groups_[0].free_pages(), 3);
  EXPECT_EQ(groups_[1].free_pages(), 2);
}

TEST_F(SequencePagesTest, TrimKeepsThePageOfTheLastKeptPosition) {
  SequencePages pages(groups_);
  ASSERT_TRUE(pages.grow(2 * kPagePositions).ok());
  const PageId kept = pages.tables()[0][0];
  pages.trim(kPagePositions);
  ASSERT_EQ(pages.tables()[0].size(), 1u);
  EXPECT_EQ(pages.tables()[0][0], kept);
  EXPECT_EQ(groups_[0].free_pages(), 2);
}

TEST_F(SequencePagesTest, EverythingIsGivenBackAtTheEnd) {
  { ASSERT_TRUE(SequencePages(groups_).grow(40).ok()); }
  EXPECT_EQ(groups_[0].free_pages(), 3);
  EXPECT_EQ(groups_[1].free_pages(), 2);
}

}  // namespace
}  // namespace lockstep::kv
