#include "text/regex.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/testing/refusal.h"

namespace lockstep::text {
namespace {

using formats::expect_refused;
using testing::ElementsAre;

std::vector<std::string> matches(std::string_view pattern, std::string_view text,
                                 Regex::Trust trust = Regex::Trust::kFile) {
  const auto regex = Regex::create(pattern, trust);
  EXPECT_TRUE(regex.ok()) << regex.status();
  if (!regex.ok()) return {};
  RegexRun run(text.size());
  std::vector<MatchSpan> spans;
  EXPECT_TRUE(regex->find_all(text, run, spans).ok());
  std::vector<std::string> out;
  for (const MatchSpan& s : spans) out.emplace_back(text.substr(s.begin, s.end - s.begin));
  return out;
}

Status search(std::string_view pattern, std::string_view text) {
  const auto regex = Regex::create(pattern, Regex::Trust::kFile);
  if (!regex.ok()) return regex.status();
  RegexRun run(text.size());
  std::vector<MatchSpan> spans;
  return regex->find_all(text, run, spans);
}

TEST(Regex, FindsAllMatchesFromLeftToRight) {
  EXPECT_THAT(matches("[a-z]+|\\d", "ab1 2c"), ElementsAre("ab", "1", "2", "c"));
}

TEST(Regex, EmptyMatchesDoNotFollowAMatch) {
  EXPECT_THAT(matches("a*", "baac"), ElementsAre("", "aa", ""));
  EXPECT_THAT(matches("x*", "\xc3\xa9"), ElementsAre("", ""));
}

TEST(Regex, PropertiesKnowUnicode16) {
  EXPECT_THAT(matches("\\p{L}+", "a\xea\x9f\x9a\xf0\xb1\x8d\x90."),  // U+A7DA, U+31350
              ElementsAre("a\xea\x9f\x9a\xf0\xb1\x8d\x90"));
  EXPECT_THAT(matches("[^\\p{L}]", "\xea\x9f\x9a."), ElementsAre("."));
  EXPECT_THAT(matches("\\P{L}", "\xea\x9f\x9a."), ElementsAre("."));
  EXPECT_THAT(matches("\\p{^L}", "\xea\x9f\x9a."), ElementsAre("."));
}

TEST(Regex, WhiteSpaceIsUnicodesAndNotTheMongolianVowelSeparator) {
  EXPECT_THAT(matches("\\s", "\xe1\xa0\x8e\xc2\x85\xe3\x80\x80"),
              ElementsAre("\xc2\x85", "\xe3\x80\x80"));
  EXPECT_THAT(matches("[\\S]", "\xe1\xa0\x8e "), ElementsAre("\xe1\xa0\x8e"));
}

TEST(Regex, ScriptsLeaveSharedPunctuationOut) {
  EXPECT_THAT(matches("\\p{Han}+", "\xe6\x97\xa5\xe3\x80\x81"), ElementsAre("\xe6\x97\xa5"));
}

TEST(Regex, CaseFoldingReachesTheLongS) {
  EXPECT_THAT(matches("(?i:'s)", "'\xc5\xbf 'S"), ElementsAre("'\xc5\xbf", "'S"));
}

TEST(Regex, WhatHasNoSureTranslationIsRefused) {
  for (const char* pattern :
       {"(?R)",  "(?<n>a)",     "(*F)",   "(?C1)a",    "a\\1",        "\\h",
        "\\Q",   "\\X",         "\\C",    "[a[b]]",    "[a&&b]",      "[[:alpha:]]",
        "[\\W]", "[\\P{L}]",    "\\p{C}", "\\p{Nope}", "\\p{sc:Han}", "\\p{",
        "\\p",   "\\",          "[",      "[]",        "[a",          "(",
        "a{2",   "\\x{110000}", "\\u12",  "\\x{zz}",   "*a"}) {
    if (std::string_view(pattern) == "a{2") continue;  // literal in both
    EXPECT_FALSE(Regex::create(pattern, Regex::Trust::kFile).ok()) << pattern;
  }
}

TEST(Regex, PatternsThatAreTooLongOrDeepOrNotUtf8AreRefused) {
  expect_refused(Regex::create(std::string(Regex::kMaxPatternBytes + 1, 'a'), Regex::Trust::kFile),
                 "at most");
  expect_refused(
      Regex::create(std::string(1000, '(') + std::string(1000, ')'), Regex::Trust::kFile), "regex");
  expect_refused(Regex::create("\xff", Regex::Trust::kFile), "UTF-8");
  expect_refused(Regex::create("((a{1,999}){1,999}){1,999}", Regex::Trust::kFile), "regex");
}

TEST(Regex, ExponentialPatternRunsIntoItsLimit) {
  // The text ends in a "b" that no match can reach, or its absence alone would end the search.
  const Status status = search("(a+)+b", std::string(64, 'a') + "cb");
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
}

TEST(Regex, QuadraticPatternRunsIntoItsLimit) {
  const std::string text = std::string(300'000, 'a') + "cb";
  EXPECT_EQ(search("a+b", text).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(search("a++b", text).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(search("a+", text).ok());
}

TEST(Regex, LimitCountsOverTheWholeRun) {
  const auto regex = Regex::create("(a+)+b", Regex::Trust::kFile);
  RegexRun run(40);
  std::vector<MatchSpan> spans;
  Status status;
  int calls = 0;
  while (status.ok() && ++calls < 100'000) status = regex->find_all("aaaaaaaaaacb", run, spans);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_GT(calls, 1);
}

TEST(Regex, AnchorsAreOfLinesAndCountsAsInOniguruma) {
  EXPECT_EQ(*pcre2_from_oniguruma("a{,2}"), "a{0,2}");
  EXPECT_EQ(*pcre2_from_oniguruma("a{1,3}b{x}"), "a{1,3}b{x}");
  EXPECT_EQ(pcre2_from_oniguruma("a{1,3}?").status().code(), absl::StatusCode::kInvalidArgument);
  const auto line_ends = Regex::create("\\s+$", Regex::Trust::kFile);
  ASSERT_TRUE(line_ends.ok()) << line_ends.status();
  const std::string text = "a  \n b  ";
  RegexRun run(text.size());
  std::vector<MatchSpan> matches;
  ASSERT_TRUE(line_ends->find_all(text, run, matches).ok());
  ASSERT_EQ(matches.size(), 2u);
  EXPECT_EQ(matches[0].begin, 1u);
  EXPECT_EQ(matches[0].end, 3u);
  EXPECT_EQ(matches[1].end, text.size());
}

TEST(Regex, PlusBehindACountRepeatsWhatWasCounted) {
  EXPECT_EQ(*pcre2_from_oniguruma("xa{1,3}+y"), "x(?:a{1,3})+y");
  EXPECT_EQ(*pcre2_from_oniguruma("x(a|(b)){2}+"), "x(?:(a|(b)){2})+");
  EXPECT_EQ(*pcre2_from_oniguruma("[ab]{,2}+"), "(?:[ab]{0,2})+");
  EXPECT_EQ(*pcre2_from_oniguruma("a\xc3\xa9{2}+"), "a(?:\xc3\xa9{2})+");
  EXPECT_THAT(matches("\\p{N}{1,3}+", "1234567 ab12345"), ElementsAre("1234567", "12345"));
  EXPECT_THAT(matches("[0-9]{2,3}+", "1234567"), ElementsAre("123456"));
}

}  // namespace
}  // namespace lockstep::text
