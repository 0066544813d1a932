#include "text/added_tokens.h"

#include <gtest/gtest.h>

#include "formats/testing/refusal.h"

namespace lockstep::text {
namespace {

using formats::SpecialToken;

// The pieces of a text with one token, in brackets where they are the token's.
std::string cut(const SpecialToken& token, std::string_view text) {
  const auto tokens = AddedTokens::create({token});
  EXPECT_TRUE(tokens.ok()) << tokens.status();
  const ByteRange whole{0, text.size()};
  std::vector<TextPiece> pieces;
  tokens->cut(text, std::span(&whole, 1), pieces);
  std::string out;
  for (const TextPiece& piece : pieces) {
    const std::string part(text.substr(piece.begin, piece.end - piece.begin));
    out += piece.token != nullptr ? "[" + part + "]" : part;
  }
  return out;
}

TEST(AddedTokens, AreCutOut) {
  const SpecialToken token{.text = "<t>"};
  EXPECT_EQ(cut(token, "a<t><t>b<t"), "a[<t>][<t>]b<t");
  EXPECT_EQ(cut(token, ""), "");
}

TEST(AddedTokens, StripTakesWhiteSpaceIn) {
  SpecialToken token{.text = "<t>"};
  token.strip_left = true;
  EXPECT_EQ(cut(token, "a \xe3\x80\x80<t> b"), "a[ \xe3\x80\x80<t>] b");
  token.strip_left = false;
  token.strip_right = true;
  EXPECT_EQ(cut(token, "a <t> \n<t>  b"), "a [<t> \n][<t>  ]b");
}

TEST(AddedTokens, SingleWordNeedsBordersOnBothSides) {
  SpecialToken token{.text = "word"};
  token.single_word = true;
  EXPECT_EQ(cut(token, "word sword words _word word."), "[word] sword words _word [word].");
  EXPECT_EQ(cut(token, "\xc3\xa9word word\xc3\xa9 \xe3\x80\x80word"),
            "\xc3\xa9word word\xc3\xa9 \xe3\x80\x80[word]");
}

TEST(AddedTokens, FallBackToAShorterTokenThatMayMatch) {
  SpecialToken control{.text = "<tool>", .control = true};
  const auto tokens = AddedTokens::create({SpecialToken{.text = "<to"}, control});
  std::vector<TextPiece> pieces;
  tokens->cut("<tool>", {}, pieces);
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].token->text, "<to");
}

TEST(AddedTokens, TextsThatAreEmptyTooLongOrTwiceAreRefused) {
  const auto refused = [](std::vector<SpecialToken> tokens) {
    return !AddedTokens::create(std::move(tokens)).ok();
  };
  EXPECT_TRUE(refused({SpecialToken{}}));
  EXPECT_TRUE(refused({SpecialToken{.text = std::string(AddedTokens::kMaxTextBytes + 1, 'a')}}));
  EXPECT_TRUE(refused({SpecialToken{.text = "\xff"}}));
  EXPECT_TRUE(refused({SpecialToken{.text = "a"}, SpecialToken{.id = 1, .text = "a"}}));
}

}  // namespace
}  // namespace lockstep::text
