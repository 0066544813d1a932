#include "base/vocabulary.h"

#include <gtest/gtest.h>

#include <array>

namespace lockstep {
namespace {

TEST(Vocabulary, AdmitsExactlyTheRowsOfTheTable) {
  const Vocabulary vocabulary = *Vocabulary::create(100);
  EXPECT_EQ(vocabulary.admit(0)->value(), 0);
  EXPECT_EQ(vocabulary.admit(99)->value(), 99);
  for (const int64_t id : {int64_t{-1}, int64_t{100}, int64_t{1} << 31, int64_t{1} << 32,
                           (int64_t{1} << 32) + 5, INT64_MAX, INT64_MIN}) {
    EXPECT_EQ(vocabulary.admit(id).status().code(), absl::StatusCode::kOutOfRange) << id;
  }
  EXPECT_EQ(message_of(vocabulary.admit(100).status()), "token id 100 is outside [0, 99]");
}

TEST(Vocabulary, AdmitAllNamesTheFirstBadId) {
  const Vocabulary vocabulary = *Vocabulary::create(10);
  const auto good = vocabulary.admit_all(std::array<int64_t, 3>{9, 0, 9});
  ASSERT_TRUE(good.ok());
  EXPECT_EQ((*good)[2].value(), 9);
  const auto bad = vocabulary.admit_all(std::array<int64_t, 4>{1, 10, -1, 2});
  EXPECT_EQ(message_of(bad.status()), "token 1: token id 10 is outside [0, 9]");
  EXPECT_TRUE(vocabulary.admit_all({})->empty());
}

TEST(Vocabulary, SizeHasACap) {
  EXPECT_TRUE(Vocabulary::create(Vocabulary::kMaxSize).ok());
  for (const int64_t size : {int64_t{0}, int64_t{-1}, Vocabulary::kMaxSize + 1, INT64_MAX}) {
    EXPECT_FALSE(Vocabulary::create(size).ok()) << size;
  }
}

}  // namespace
}  // namespace lockstep
