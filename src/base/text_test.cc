#include "base/text.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(Utf8, AcceptsTheEndsOfEveryLength) {
  for (const char* text :
       {"", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
        "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(valid_utf8(text)) << quote_text(text);
  }
}

TEST(Utf8, RefusesWhatRfc3629Excludes) {
  for (const char* text : {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf",  // stray, overlong
                           "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf",      // overlong
                           "\xed\xa0\x80", "\xed\xbf\xbf",          // surrogates
                           "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",  // past U+10FFFF
                           "\xff", "\xc2", "\xe1\x80", "\xf1\x80\x80", "\xc2\x41"}) {
    EXPECT_FALSE(valid_utf8(text)) << quote_text(text);
    EXPECT_FALSE(valid_utf8(std::string("ok ") + text)) << quote_text(text);
  }
}

TEST(Utf8, PrefixEndsBeforeTheFirstBadByte) {
  EXPECT_EQ(valid_utf8_prefix("ab\xc3\xa9"), 4u);
  EXPECT_EQ(valid_utf8_prefix("ab\xc3"), 2u);
  EXPECT_EQ(valid_utf8_prefix("\xff"), 0u);
  EXPECT_EQ(valid_utf8_prefix(""), 0u);
}

TEST(QuoteText, ShowsPrintableTextAsItIs) { EXPECT_EQ(quote_text("a b~"), "'a b~'"); }

TEST(QuoteText, CannotBreakALineOrMoveACursor) {
  EXPECT_EQ(quote_text("a\n\x1b[2J'\\"), "'a\\x0a\\x1b[2J\\x27\\x5c'");
  EXPECT_EQ(quote_text(std::string_view("\0\xff", 2)), "'\\x00\\xff'");
}

TEST(QuoteText, CutsLongText) {
  EXPECT_EQ(quote_text(std::string(1000, 'x')), "'" + std::string(64, 'x') + "...(1000 bytes)'");
}

}  // namespace
}  // namespace lockstep
