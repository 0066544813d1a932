#include "text/normalizer.h"

#include <gtest/gtest.h>

namespace lockstep::text {
namespace {

using formats::NormalizerStep;
using Kind = NormalizerStep::Kind;

std::string normalized(std::string_view text, NormalizerStep step) {
  const auto normalizer = Normalizer::create({std::move(step)});
  const auto result = normalizer.ok() ? normalizer->apply(text) : normalizer.status();
  EXPECT_TRUE(result.ok()) << result.status();
  return result.value_or("");
}
std::string normalized(std::string_view text, Kind kind) {
  return normalized(text, NormalizerStep{.kind = kind});
}

TEST(Normalizer, FormsDifferAsTheyShould) {
  const std::string text = "e\xcc\x81 \xef\xac\x81 \xe2\x84\xab";  // e + U+0301, U+FB01, U+212B
  EXPECT_EQ(normalized(text, Kind::kNfc), "\xc3\xa9 \xef\xac\x81 \xc3\x85");
  EXPECT_EQ(normalized(text, Kind::kNfd), "e\xcc\x81 \xef\xac\x81 A\xcc\x8a");
  EXPECT_EQ(normalized(text, Kind::kNfkc), "\xc3\xa9 fi \xc3\x85");
  EXPECT_EQ(normalized(text, Kind::kNfkd), "e\xcc\x81 fi A\xcc\x8a");
}

TEST(Normalizer, MarksAreInCanonicalOrder) {
  // U+0323 (220) goes before U+0301 (230); then the first one composes.
  EXPECT_EQ(normalized("e\xcc\x81\xcc\xa3", Kind::kNfd), "e\xcc\xa3\xcc\x81");
  EXPECT_EQ(normalized("e\xcc\x81\xcc\xa3", Kind::kNfc), "\xe1\xba\xb9\xcc\x81");
}

TEST(Normalizer, LongRunOfMarksInBadOrderTakesLinearTime) {
  // By insertion this would be 10^11 steps.
  std::string text = "e";
  for (int i = 0; i < 300'000; ++i) text += "\xcc\x81";
  for (int i = 0; i < 300'000; ++i) text += "\xcc\xa3";
  const std::string ordered = normalized(text, Kind::kNfd);
  EXPECT_EQ(ordered.substr(0, 3), "e\xcc\xa3");
  EXPECT_EQ(ordered.substr(ordered.size() - 2), "\xcc\x81");
}

TEST(Normalizer, AsciiAndUnknownCodePointsStay) {
  EXPECT_EQ(normalized("plain\n", Kind::kNfkc), "plain\n");
  const std::string unassigned = "\xf0\xb8\x80\x80\xef\xbf\xbf";
  EXPECT_EQ(normalized(unassigned, Kind::kNfc), unassigned);
}

TEST(Normalizer, ReplacesTextAndMatches) {
  EXPECT_EQ(normalized("a b  c", {.kind = Kind::kReplace, .pattern = " ", .text = "_"}), "a_b__c");
  EXPECT_EQ(normalized("aaa", {.kind = Kind::kReplace, .pattern = "aa", .text = ""}), "a");
  EXPECT_EQ(normalized("a1b22", {.kind = Kind::kReplaceRegex, .pattern = "\\d+", .text = "#"}),
            "a#b#");
}

TEST(Normalizer, PrependsToTextAlone) {
  EXPECT_EQ(normalized("a", {.kind = Kind::kPrepend, .text = "_"}), "_a");
  EXPECT_EQ(normalized("", {.kind = Kind::kPrepend, .text = "_"}), "");
}

TEST(Normalizer, StripsWhiteSpaceOfEveryKind) {
  EXPECT_EQ(normalized(" \t\xc2\xa0"
                       "a \xe3\x80\x80",
                       Kind::kStripLeft),
            "a \xe3\x80\x80");
  EXPECT_EQ(normalized(" a \xe3\x80\x80", Kind::kStripRight), " a");
  EXPECT_EQ(normalized(" \n ", Kind::kStripLeft), "");
}

TEST(Normalizer, LowercaseIsCharacterByCharacter) {
  EXPECT_EQ(normalized("AB\xce\xa3 \xc4\xb0", Kind::kLowercase), "ab\xcf\x83 i\xcc\x87");
}

TEST(Normalizer, TextThatGrowsPastTheBoundIsRefused) {
  const auto normalizer = Normalizer::create(
      {{.kind = Kind::kReplace, .pattern = "a", .text = std::string(1 << 16, 'b')}});
  const auto result = normalizer->apply(std::string(1 << 16, 'a'));
  EXPECT_EQ(result.status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(Normalizer, RangesMoveWithTheText) {
  const auto normalizer =
      Normalizer::create({{.kind = Kind::kPrepend, .text = "__"},
                          {.kind = Kind::kReplace, .pattern = " ", .text = "__"}});
  std::vector<ByteRange> ranges = {{0, 2}, {3, 4}};
  EXPECT_EQ(*normalizer->apply("a b c", ranges), "__a__b__c");
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[0].begin, 0u);
  EXPECT_EQ(ranges[0].end, 5u);
  EXPECT_EQ(ranges[1].begin, 6u);
  EXPECT_EQ(ranges[1].end, 8u);
}

TEST(Normalizer, RangesThatAStepWorksAcrossAreDropped) {
  const auto normalizer = Normalizer::create({{.kind = Kind::kNfc}});
  std::vector<ByteRange> ranges = {{0, 1}};
  EXPECT_EQ(*normalizer->apply("e\xcc\x81", ranges), "\xc3\xa9");
  EXPECT_TRUE(ranges.empty());
}

}  // namespace
}  // namespace lockstep::text
