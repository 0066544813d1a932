#include "engine/text_output.h"

#include <gtest/gtest.h>

#include "text/testing/tiny_tokenizer.h"

namespace lockstep::engine {
namespace {

// Bytes are tokens, and so are "ab" and "abab".
class TextOutputTest : public ::testing::Test {
 protected:
  TextOutputTest() {
    spec_.merge("a", "b");
    spec_.merge("ab", "ab");
    tokenizer_.emplace(spec_.build());
  }

  // Pieces as they come, separated by '|'; "!" where a stop string ended the text.
  std::string streamed(std::string_view text, std::vector<std::string> stops,
                       bool include_stop = false) {
    TextOutput output(*tokenizer_, stops, include_stop);
    std::string out;
    const auto ids = tokenizer_->encode(text);
    for (const TokenId id : *ids) {
      const TextOutput::Piece piece = output.push(id, /*may_stop=*/true);
      out += piece.text + (piece.stopped ? "!" : "|");
      if (piece.stopped) return out;
    }
    return out + output.finish();
  }

  text::TinySpec spec_;
  std::optional<text::Tokenizer> tokenizer_;
};

TEST_F(TextOutputTest, WithoutStopsTextComesAtOnce) { EXPECT_EQ(streamed("xyz", {}), "x|y|z|"); }

TEST_F(TextOutputTest, StopStringAcrossTokensIsNeverShown) {
  EXPECT_EQ(streamed("xEND", {"END"}), "x|||!");
  EXPECT_EQ(streamed("xEN", {"END"}), "x|||EN");
  EXPECT_EQ(streamed("xENTER", {"END"}), "x|||ENT||ER|");
}

TEST_F(TextOutputTest, TextBehindAStopStringInsideOneTokenIsGone) {
  EXPECT_EQ(streamed("xabab", {"ba"}), "x|a!");
  EXPECT_EQ(streamed("xabab", {"ba"}, /*include_stop=*/true), "x|aba!");
}

TEST_F(TextOutputTest, EarliestStopWinsAndThenTheLongest) {
  EXPECT_EQ(streamed("abab", {"bab", "a"}), "!");
  EXPECT_EQ(streamed("xabab", {"b", "ba"}, /*include_stop=*/true), "x|aba!");
}

TEST_F(TextOutputTest, StopThatStartsAgainInsideItselfIsFound) {
  EXPECT_EQ(streamed("aac", {"aac"}), "||!");
  EXPECT_EQ(streamed("aaac", {"aac"}), "||a|!");
}

TEST_F(TextOutputTest, StopsDoNotCountBeforeTheyMay) {
  const std::vector<std::string> stops = {"xy"};
  TextOutput output(*tokenizer_, stops, false);
  const auto ids = tokenizer_->encode("xyxy").value();
  EXPECT_EQ(output.push(ids[0], false).text, "x");
  EXPECT_EQ(output.push(ids[1], false).text, "y");
  EXPECT_EQ(output.push(ids[2], true).text, "");
  EXPECT_TRUE(output.push(ids[3], true).stopped);
}

TEST_F(TextOutputTest, HalfACharacterIsNotShown) {
  EXPECT_EQ(streamed("\xe2\x82\xac", {}), "||\xe2\x82\xac|");
}

}  // namespace
}  // namespace lockstep::engine
