#include "text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/pre_tokenizers.h"
#include "formats/testing/refusal.h"
#include "text/testing/tiny_tokenizer.h"

namespace lockstep::text {
namespace {

using formats::expect_refused;
using formats::SpecialToken;
using testing::ElementsAre;

Segment from_template(std::string text) { return {std::move(text), Origin::kTemplate}; }
Segment data(std::string text) { return {std::move(text), Origin::kData}; }

TEST(Tokenizer, LowestRankMergesFirstAndLeftmostAmongEquals) {
  TinySpec tiny;
  const int32_t bc = tiny.merge("b", "c");
  const int32_t ab = tiny.merge("a", "b");
  const int32_t aa = tiny.merge("a", "a");
  const Tokenizer tokenizer = tiny.build();
  EXPECT_THAT(encode(tokenizer, "abc"), ElementsAre('a', bc));
  EXPECT_THAT(encode(tokenizer, "abab"), ElementsAre(ab, ab));
  EXPECT_THAT(encode(tokenizer, "aaa"), ElementsAre(aa, 'a'));
}

TEST(Tokenizer, WordsAreCutBeforeMerging) {
  TinySpec tiny;
  const int32_t ab = tiny.merge("a", "b");
  tiny.merge("b", " ");  // GPT-2's words never end in a space
  const Tokenizer tokenizer = tiny.build();
  EXPECT_THAT(encode(tokenizer, "ab ab"), ElementsAre(ab, ' ', ab));
}

TEST(Tokenizer, SmolLmSplitsDigits) {
  TinySpec tiny;
  tiny.merge("1", "2");
  const auto& splits = formats::find_pre_tokenizer("smollm")->splits;
  tiny.spec.word_steps.assign(splits.begin(), splits.end());
  EXPECT_THAT(encode(tiny.build(), "12"), ElementsAre('1', '2'));
}

TEST(Tokenizer, IgnoringMergesTakesWholeWords) {
  TinySpec tiny;
  const int32_t ab = tiny.merge("a", "b");
  const int32_t bc = tiny.merge("b", "c");
  const int32_t abc = tiny.merge("a", "bc");  // unreachable by merging: "ab" comes first
  EXPECT_THAT(encode(tiny.build(), "abc"), ElementsAre(ab, 'c'));
  tiny.spec.ignore_merges = true;
  EXPECT_THAT(encode(tiny.build(), "abc"), ElementsAre(abc));
  EXPECT_THAT(encode(tiny.build(), "bc"), ElementsAre(bc));
}

TEST(Tokenizer, BytesWithoutATokenAreLostUnlessOneStandsForThem) {
  TinySpec tiny;
  tiny.spec.token_texts['b'] = "unreachable";
  EXPECT_THAT(encode(tiny.build(), "abc"), ElementsAre('a', 'c'));
  tiny.spec.unknown_id = '?';
  EXPECT_THAT(encode(tiny.build(), "abc"), ElementsAre('a', '?', 'c'));
}

TEST(Tokenizer, LongestAddedTokenWins) {
  TinySpec tiny;
  const int32_t end = tiny.control("<end>");
  const int32_t ending = tiny.control("<end>ing");
  EXPECT_THAT(encode(tiny.build(), "a<end>ing<end>i"), ElementsAre('a', ending, end, 'i'));
}

TEST(Tokenizer, TextThatSpellsAControlTokenStaysTextWhenAsked) {
  TinySpec tiny;
  tiny.control("<e>");
  const auto ids = encode(tiny.build(), "<e>", {.match_specials = false});
  EXPECT_THAT(ids, ElementsAre('<', 'e', '>'));
}

TEST(Tokenizer, ControlTokensAreMatchedInTemplateTextOnly) {
  TinySpec tiny;
  const int32_t turn = tiny.control("<t>");
  const Tokenizer tokenizer = tiny.build();
  EXPECT_THAT(encode(tokenizer, std::vector{from_template("<t>"), data("<t>")}),
              ElementsAre(turn, '<', 't', '>'));
  // Half from each: neither can complete the other's.
  EXPECT_THAT(encode(tokenizer, std::vector{from_template("<t"), data(">")}),
              ElementsAre('<', 't', '>'));
  EXPECT_THAT(encode(tokenizer, std::vector{data("<"), from_template("t>")}),
              ElementsAre('<', 't', '>'));
}

TEST(Tokenizer, NeighbouringTemplateSegmentsSpellATokenTogether) {
  TinySpec tiny;
  const int32_t turn = tiny.control("<t>");
  EXPECT_THAT(encode(tiny.build(), std::vector{from_template("<"), from_template("t>")}),
              ElementsAre(turn));
}

TEST(Tokenizer, WordsGoOnOverSegmentBorders) {
  TinySpec tiny;
  const int32_t ab = tiny.merge("a", "b");
  EXPECT_THAT(encode(tiny.build(), std::vector{from_template("a"), data("b")}), ElementsAre(ab));
}

TEST(Tokenizer, AddedTokensThatAreNotControlTokensAreVocabularyEverywhere) {
  TinySpec tiny;
  const int32_t tag = tiny.added({.text = "<p>"});
  EXPECT_THAT(encode(tiny.build(), std::vector{data("<p>")}), ElementsAre(tag));
  EXPECT_THAT(encode(tiny.build(), "<p>", {.match_specials = false}), ElementsAre(tag));
}

TEST(Tokenizer, NormalisedTextDoesNotMoveControlTokensIntoData) {
  TinySpec tiny;
  SpecialToken token{.text = "<t>", .control = true};
  token.normalized = true;
  const int32_t turn = tiny.added(token);
  tiny.spec.normalizer = {{.kind = formats::NormalizerStep::Kind::kNfc}};
  const Tokenizer tokenizer = tiny.build();
  EXPECT_THAT(encode(tokenizer, std::vector{from_template("<t>"), data("<t>")}),
              ElementsAre(turn, '<', 't', '>'));
  // U+0344 becomes two characters, and what is from the template is still known.
  EXPECT_THAT(encode(tokenizer, std::vector{data("<t>\xcd\x84"), from_template("<t>")}),
              ElementsAre('<', 't', '>', 0xcc, 0x88, 0xcc, 0x81, turn));
  // e and U+0301 become one character across the border: none of it counts as the template's.
  const auto ids = encode(tokenizer, std::vector{data("e"), from_template("\xcc\x81<t>")});
  EXPECT_EQ(std::ranges::count(ids, turn), 0);
}

TEST(Tokenizer, BosAndEosAreAddedOnlyWhenTheFileAndTheCallerSaySo) {
  TinySpec tiny;
  tiny.spec.bos_id = tiny.control("<s>");
  tiny.spec.eos_id = tiny.control("</s>");
  EXPECT_THAT(encode(tiny.build(), "a", {.add_specials = true}), ElementsAre('a'));
  tiny.spec.prefix_ids = {tiny.spec.bos_id};
  tiny.spec.suffix_ids = {tiny.spec.eos_id};
  EXPECT_THAT(encode(tiny.build(), "a"), ElementsAre('a'));
  EXPECT_THAT(encode(tiny.build(), "a", {.add_specials = true}),
              ElementsAre(tiny.spec.bos_id, 'a', tiny.spec.eos_id));
}

TEST(Tokenizer, InvalidUtf8IsRefusedWithItsOffset) {
  const Tokenizer tokenizer = TinySpec().build();
  expect_refused(tokenizer.encode("ab\xff"), "byte 2");
  expect_refused(tokenizer.encode("\xc3"), "byte 0");
  expect_refused(tokenizer.encode("a\xed\xa0\x80"), "byte 1");  // a surrogate
  // Each half of a character is not one, but together they are.
  EXPECT_THAT(encode(tokenizer, std::vector{data("\xc3"), data("\xa9")}), ElementsAre(0xc3, 0xa9));
}

TEST(Tokenizer, TextOverTheCapIsRefused) {
  const Tokenizer tokenizer = TinySpec().build();
  const std::string half(Tokenizer::kMaxTextBytes / 2 + 1, 'a');
  expect_refused(tokenizer.encode(half + half), "at most");
  expect_refused(tokenizer.encode(std::vector{data(half), data(half)}), "most allowed");
}

TEST(Tokenizer, AddedTokenPastTheVocabularyIsDroppedAndNamed) {
  TinySpec tiny;
  tiny.control("<kept>");
  tiny.control("<dropped>");
  const auto tokenizer = tiny.build_for(257);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  ASSERT_EQ(tokenizer->dropped().size(), 1u);
  EXPECT_EQ(tokenizer->dropped()[0].text, "<dropped>");
  EXPECT_EQ(encode(*tokenizer, "<dropped>").size(), 9u);
  EXPECT_THAT(encode(*tokenizer, "<kept>"), ElementsAre(256));
}

TEST(Tokenizer, OrdinaryTokenOrMergePastTheVocabularyIsRefused) {
  TinySpec tiny;
  tiny.merge("a", "b");
  expect_refused(tiny.build_for(256), "past the model's vocabulary");
  tiny.spec.token_kinds[256] = formats::TokenKind::kUserDefined;
  expect_refused(tiny.build_for(256), "merge 0");
}

TEST(Tokenizer, SpecsThatContradictThemselvesAreRefused) {
  TinySpec kinds;
  kinds.spec.token_kinds.pop_back();
  expect_refused(kinds.build_for(256), "token kinds");

  TinySpec twice;
  twice.merge("a", "b");
  twice.spec.merges.push_back(twice.spec.merges[0]);
  twice.spec.merge_results.push_back(twice.spec.merge_results[0]);
  expect_refused(twice.build_for(twice.size()), "there twice");

  TinySpec results;
  results.merge("a", "b");
  results.spec.merge_results.clear();
  expect_refused(results.build_for(results.size()), "merge results");

  TinySpec bos;
  bos.spec.bos_id = 256;
  expect_refused(bos.build_for(256), "BOS");
  bos.spec.bos_id = -1;
  bos.spec.prefix_ids = {256};
  expect_refused(bos.build_for(256), "BOS");

  TinySpec specials;
  specials.control("<t>");
  specials.control("<t>");
  expect_refused(specials.build_for(specials.size()), "twice");

  TinySpec empty;
  empty.control("");
  expect_refused(empty.build_for(empty.size()), "0 bytes");
}

TEST(Tokenizer, IdsWithoutATextDecodeToNothing) {
  const auto tokenizer = TinySpec().build_for(300);
  ASSERT_TRUE(tokenizer.ok());
  const auto id = tokenizer->vocabulary().admit(299);
  EXPECT_EQ(tokenizer->decode(std::vector{*id}), "");
}

TEST(Tokenizer, DecodingHidesControlTokensUnlessAsked) {
  TinySpec tiny;
  tiny.control("<e>");
  const Tokenizer tokenizer = tiny.build();
  const auto ids = tokenizer.encode("a<e>b");
  EXPECT_EQ(tokenizer.decode(*ids), "ab");
  EXPECT_EQ(tokenizer.decode(*ids, Specials::kShow), "a<e>b");
}

TEST(Tokenizer, AddedTokensAreFoundByText) {
  TinySpec tiny;
  const int32_t end = tiny.control("<e>");
  const Tokenizer tokenizer = tiny.build();
  EXPECT_EQ(tokenizer.find_added("<e>")->value(), end);
  EXPECT_FALSE(tokenizer.find_added("a").has_value());
}

TEST(Tokenizer, AllTextComesBack) {
  TinySpec tiny;
  for (const auto& [left, right] : {std::pair{"e", "r"}, {" ", " "}, {"\xc3", "\xa9"}}) {
    tiny.merge(left, right);
  }
  const Tokenizer tokenizer = tiny.build();
  for (const std::string text :
       {"", "over here", "   ", "\xc3\xa9\xc3\xa9", "\n\r\n\t", "1 2  3", "\xf0\x9f\x99\x82"}) {
    EXPECT_EQ(tokenizer.decode(*tokenizer.encode(text)), text);
  }
  const std::string zeros(3, '\0');
  EXPECT_EQ(tokenizer.decode(*tokenizer.encode(zeros)), zeros);
}

}  // namespace
}  // namespace lockstep::text
