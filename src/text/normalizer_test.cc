#include "text/normalizer.h"

#include <gtest/gtest.h>

namespace lockstep::text {
namespace {

using formats::Normalization;

std::string normalized(std::string_view text, Normalization step) {
  const auto result = normalize(text, std::vector{step});
  EXPECT_TRUE(result.ok()) << result.status();
  return result.value_or("");
}

TEST(Normalizer, FormsDifferAsTheyShould) {
  const std::string text = "e\xcc\x81 \xef\xac\x81 \xe2\x84\xab";  // e + U+0301, U+FB01, U+212B
  EXPECT_EQ(normalized(text, Normalization::kNfc), "\xc3\xa9 \xef\xac\x81 \xc3\x85");
  EXPECT_EQ(normalized(text, Normalization::kNfd), "e\xcc\x81 \xef\xac\x81 A\xcc\x8a");
  EXPECT_EQ(normalized(text, Normalization::kNfkc), "\xc3\xa9 fi \xc3\x85");
  EXPECT_EQ(normalized(text, Normalization::kNfkd), "e\xcc\x81 fi A\xcc\x8a");
}

TEST(Normalizer, MarksAreInCanonicalOrder) {
  // U+0323 (220) goes before U+0301 (230); then the first one composes.
  EXPECT_EQ(normalized("e\xcc\x81\xcc\xa3", Normalization::kNfd), "e\xcc\xa3\xcc\x81");
  EXPECT_EQ(normalized("e\xcc\x81\xcc\xa3", Normalization::kNfc), "\xe1\xba\xb9\xcc\x81");
}

TEST(Normalizer, LongRunOfMarksInBadOrderTakesLinearTime) {
  // By insertion this would be 10^11 steps.
  std::string text = "e";
  for (int i = 0; i < 300'000; ++i) text += "\xcc\x81";
  for (int i = 0; i < 300'000; ++i) text += "\xcc\xa3";
  const std::string ordered = normalized(text, Normalization::kNfd);
  EXPECT_EQ(ordered.substr(0, 3), "e\xcc\xa3");
  EXPECT_EQ(ordered.substr(ordered.size() - 2), "\xcc\x81");
}

TEST(Normalizer, AsciiAndUnknownCodePointsStay) {
  EXPECT_EQ(normalized("plain\n", Normalization::kNfkc), "plain\n");
  const std::string unassigned = "\xf0\xb8\x80\x80\xef\xbf\xbf";
  EXPECT_EQ(normalized(unassigned, Normalization::kNfc), unassigned);
}

}  // namespace
}  // namespace lockstep::text
