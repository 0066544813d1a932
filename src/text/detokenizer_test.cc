#include "text/detokenizer.h"

#include <gtest/gtest.h>

#include "text/testing/tiny_tokenizer.h"

namespace lockstep::text {
namespace {

// What comes out after each byte, pieces separated by '|', and at the end.
std::string streamed(std::string_view bytes) {
  Utf8Assembler assembler;
  std::string out;
  for (const char byte : bytes) out += assembler.push({&byte, 1}) + "|";
  return out + assembler.finish();
}

const std::string kBroken = "\xef\xbf\xbd";

TEST(Utf8Assembler, GivesACharacterWhenItsLastByteComes) {
  EXPECT_EQ(streamed("a"), "a|");
  EXPECT_EQ(streamed("\xc3\xa9"), "|\xc3\xa9|");
  EXPECT_EQ(streamed("\xe2\x82\xac"), "||\xe2\x82\xac|");
  EXPECT_EQ(streamed("\xf0\x9f\x99\x82"), "|||\xf0\x9f\x99\x82|");
}

TEST(Utf8Assembler, BytesThatCannotBecomeACharacterAreReplacedAtOnce) {
  EXPECT_EQ(streamed("\xff"), fmt::format("{}|", kBroken));
  EXPECT_EQ(streamed("\x80"), fmt::format("{}|", kBroken));
  EXPECT_EQ(streamed("\xc0"), fmt::format("{}|", kBroken));  // only overlong forms begin so
  EXPECT_EQ(streamed("\xc3z"), fmt::format("|{}z|", kBroken));
  // A surrogate's second byte shows that it is none: two broken pieces and a third.
  EXPECT_EQ(streamed("\xed\xa0\x80"), fmt::format("|{0}{0}|{0}|", kBroken));
}

TEST(Utf8Assembler, AFrontThatBreaksOffIsOneReplacement) {
  EXPECT_EQ(streamed("\xf0\x9f\x99"), fmt::format("|||{}", kBroken));
  EXPECT_EQ(streamed("\xf0\x9f\x99!"), fmt::format("|||{}!|", kBroken));
}

TEST(Utf8Assembler, IsNewAfterFinish) {
  Utf8Assembler assembler;
  assembler.push("\xf0");
  assembler.finish();
  EXPECT_EQ(assembler.push("a"), "a");
  EXPECT_EQ(assembler.finish(), "");
}

TEST(Detokenizer, NeverGivesHalfACharacter) {
  const Tokenizer tokenizer = TinySpec().build();
  const std::string text = "a\xe2\x82\xac\xf0\x9f\x99\x82";
  Detokenizer stream(tokenizer);
  std::string out;
  const auto ids = tokenizer.encode(text);
  for (const TokenId id : *ids) {
    const std::string piece = stream.push(id);
    EXPECT_TRUE(piece.empty() || piece == "a" || piece.size() >= 3) << piece;
    out += piece;
  }
  EXPECT_EQ(out + stream.finish(), text);
}

TEST(Detokenizer, HiddenControlTokensDoNotBreakCharacters) {
  TinySpec tiny;
  const int32_t end = tiny.control("<e>");
  const Tokenizer tokenizer = tiny.build();
  const Vocabulary vocabulary = tokenizer.vocabulary();
  Detokenizer stream(tokenizer);
  EXPECT_EQ(stream.push(*vocabulary.admit(0xc3)), "");
  EXPECT_EQ(stream.push(*vocabulary.admit(end)), "");
  EXPECT_EQ(stream.push(*vocabulary.admit(0xa9)), "\xc3\xa9");
}

}  // namespace
}  // namespace lockstep::text
