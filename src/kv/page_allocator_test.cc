#include <gtest/gtest.h>

#include "kv/page_allocator.h"

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

TEST(PageAllocator, APageThatIsOnlyHeldIsCountedAsSuch) {
  PageAllocator pages(2);
  const PageId page = pages.allocate().value();
  pages.hold(page);
  EXPECT_EQ(pages.only_held_pages(), 0);
  pages.release(page);
  EXPECT_EQ(pages.only_held_pages(), 1);
  EXPECT_EQ(pages.free_pages(), 1);
  pages.drop_hold(page);
  EXPECT_EQ(pages.only_held_pages(), 0);
  EXPECT_EQ(pages.free_pages(), 2);
  EXPECT_TRUE(pages.check_integrity().ok());
}

TEST(PageAllocator, ReleasingAHoldersReferenceIsOurOwnBug) {
  PageAllocator pages(1);
  const PageId page = pages.allocate().value();
  pages.hold(page);
  pages.release(page);
  EXPECT_DEATH(pages.release(page), "only_held");
}

}  // namespace
}  // namespace lockstep::kv
