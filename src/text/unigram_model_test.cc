#include "text/unigram_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "formats/testing/refusal.h"

namespace lockstep::text {
namespace {

using formats::expect_refused;
using formats::TokenizerSpec;
using formats::TokenKind;
using testing::ElementsAre;

// Id 0 is unknown.
TokenizerSpec spec_of(std::vector<std::pair<std::string, double>> tokens) {
  TokenizerSpec spec;
  spec.model = formats::TokenModel::kUnigram;
  spec.unknown_id = 0;
  spec.token_texts = {"<unk>"};
  spec.token_kinds = {TokenKind::kControl};
  spec.scores = {0};
  for (auto& [text, score] : tokens) {
    spec.token_texts.push_back(text);
    spec.token_kinds.push_back(TokenKind::kNormal);
    spec.scores.push_back(score);
  }
  return spec;
}

std::vector<int32_t> encode(const TokenizerSpec& spec, std::string_view word) {
  const auto model = UnigramModel::create(spec);
  EXPECT_TRUE(model.ok()) << model.status();
  UnigramModel::Scratch scratch;
  std::vector<int32_t> ids;
  model->encode(word, scratch, ids);
  return ids;
}

TEST(UnigramModel, TheHighestSumWins) {
  const TokenizerSpec spec = spec_of({{"a", -1}, {"b", -1}, {"c", -1}, {"ab", -3}, {"bc", -1.5}});
  EXPECT_THAT(encode(spec, "ab"), ElementsAre(1, 2));
  EXPECT_THAT(encode(spec, "abc"), ElementsAre(1, 5));
  EXPECT_THAT(encode(spec, ""), ElementsAre());
}

TEST(UnigramModel, OfEqualSumsTheLongerLastTokenStands) {
  EXPECT_THAT(encode(spec_of({{"a", -1}, {"b", -1}, {"ab", -2}}), "ab"), ElementsAre(3));
}

TEST(UnigramModel, UnknownCharactersThatTouchAreOne) {
  EXPECT_THAT(encode(spec_of({{"a", -1}}), "xya\xc3\xa9z"), ElementsAre(0, 1, 0));
}

TEST(UnigramModel, UnknownCharactersAreBytesWhereAllOfThemExist) {
  TokenizerSpec spec = spec_of({{"a", -1}, {"<0xC3>", -9}, {"<0xA9>", -9}});
  spec.byte_fallback = true;
  EXPECT_THAT(encode(spec, "a\xc3\xa9"), ElementsAre(1, 2, 3));
  EXPECT_THAT(encode(spec, "a\xc3\xaa"), ElementsAre(1, 0));
}

TEST(UnigramModel, ControlTokensAreNotMadeOutOfText) {
  TokenizerSpec spec = spec_of({{"<s>", 0}, {"<", -1}, {"s", -1}, {">", -1}});
  spec.token_kinds[1] = TokenKind::kControl;
  EXPECT_THAT(encode(spec, "<s>"), ElementsAre(2, 3, 4));
}

TEST(UnigramModel, BrokenVocabulariesAreRefused) {
  TokenizerSpec spec = spec_of({{"a", -1}});
  spec.unknown_id = -1;
  expect_refused(UnigramModel::create(spec), "unknown token");
  expect_refused(UnigramModel::create(spec_of({{"a", -1}, {"a", -2}})), "have one text");
  expect_refused(UnigramModel::create(spec_of({{"a", std::numeric_limits<double>::quiet_NaN()}})),
                 "token 1");
  expect_refused(UnigramModel::create(spec_of({{std::string(5000, 'a'), -1}})), "5000 bytes");
  spec = spec_of({{"a", -1}});
  spec.scores.pop_back();
  expect_refused(UnigramModel::create(spec), "1 scores for 2 tokens");
}

}  // namespace
}  // namespace lockstep::text
