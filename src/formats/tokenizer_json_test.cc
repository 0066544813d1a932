#include "formats/tokenizer_json.h"

#include <gtest/gtest.h>

#include "formats/pre_tokenizers.h"
#include "formats/testing/refusal.h"

namespace lockstep::formats {
namespace {

// A small tokenizer.json, part by part.
struct Source {
  std::string model = R"({"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]})";
  std::string added = R"([{"id":3,"content":"<t>","special":true}])";
  std::string normalizer = "null";
  std::string pre_tokenizer = R"({"type":"ByteLevel","add_prefix_space":false})";
  std::string post_processor = "null";
  std::string decoder = R"({"type":"ByteLevel"})";

  std::string text() const {
    return fmt::format(
        R"({{"model":{},"added_tokens":{},"normalizer":{},"pre_tokenizer":{},"post_processor":{},)"
        R"("decoder":{}}})",
        model, added, normalizer, pre_tokenizer, post_processor, decoder);
  }
};

TokenizerSpec parsed(const Source& source) {
  auto spec = parse_tokenizer_json(source.text());
  EXPECT_TRUE(spec.ok()) << spec.status();
  return std::move(spec).value_or(TokenizerSpec());
}

void refuse(const Source& source, std::string_view part) {
  expect_refused(parse_tokenizer_json(source.text()), part);
}

TEST(TokenizerJson, ReadsVocabularyMergesAndAddedTokens) {
  const TokenizerSpec spec = parsed({});
  EXPECT_EQ(spec.token_texts, (std::vector<std::string>{"a", "b", "ab", "<t>"}));
  EXPECT_EQ(spec.token_kinds[3], TokenKind::kControl);
  EXPECT_EQ(spec.merges, (std::vector<std::pair<int32_t, int32_t>>{{0, 1}}));
  EXPECT_EQ(spec.merge_results, (std::vector<int32_t>{2}));
  EXPECT_EQ(spec.model, TokenModel::kByteLevelBpe);
  ASSERT_EQ(spec.specials.size(), 1u);
  EXPECT_TRUE(spec.specials[0].control);
  EXPECT_FALSE(spec.specials[0].normalized);
}

TEST(TokenizerJson, MergesMayBePairs) {
  const TokenizerSpec spec =
      parsed({.model = R"({"vocab":{"a":0,"b":1,"ab":2},"merges":[["a","b"]]})"});
  EXPECT_EQ(spec.merge_results, (std::vector<int32_t>{2}));
}

TEST(TokenizerJson, AddedTokensMayLeaveGapsAndRepeatVocabulary) {
  const TokenizerSpec spec =
      parsed({.added = R"([{"id":2,"content":"ab"},{"id":6,"content":"x"}])"});
  EXPECT_EQ(spec.token_texts.size(), 7u);
  EXPECT_EQ(spec.token_kinds[2], TokenKind::kNormal);  // the model makes it too
  EXPECT_EQ(spec.token_kinds[6], TokenKind::kUserDefined);
  EXPECT_EQ(spec.token_kinds[4], TokenKind::kUnused);
}

TEST(TokenizerJson, PreTokenizersAreSteps) {
  Source source;
  source.pre_tokenizer =
      R"({"type":"Sequence","pretokenizers":[{"type":"Digits","individual_digits":true},)"
      R"({"type":"ByteLevel","add_prefix_space":true}]})";
  EXPECT_EQ(parsed(source).word_steps,
            (std::vector<WordStep>{Split{.regex = std::string(kNumberRegex)}, PrefixSpace{},
                                   Split{.regex = std::string(kGpt2Words)}}));
  source.pre_tokenizer =
      R"({"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"String":"a.b"},)"
      R"("behavior":"Removed","invert":true},)"
      R"({"type":"Sequence","pretokenizers":[)"
      R"({"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]}]})";
  EXPECT_EQ(parsed(source).word_steps,
            (std::vector<WordStep>{
                Split{.regex = "a\\.b", .behavior = SplitBehavior::kRemoved, .invert = true}}));
}

TEST(TokenizerJson, WithoutByteLevelSymbolsAreCharacters) {
  Source source;
  source.model = R"({"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"],"unk_token":"b",)"
                 R"("fuse_unk":true,"byte_fallback":true})";
  source.normalizer = R"({"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"_"},)"
                      R"({"type":"Replace","pattern":{"String":" "},"content":"_"}]})";
  source.pre_tokenizer = R"({"type":"Metaspace","replacement":"_","prepend_scheme":"first",)"
                         R"("split":false})";
  source.decoder =
      R"({"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"_"},"content":" "},)"
      R"({"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,)"
      R"("stop":0}]})";
  const TokenizerSpec spec = parsed(source);
  EXPECT_EQ(spec.model, TokenModel::kCharacterBpe);
  EXPECT_TRUE(spec.byte_fallback);
  EXPECT_TRUE(spec.fuse_unknown);
  EXPECT_EQ(spec.unknown_id, 1);
  EXPECT_EQ(spec.normalizer.size(), 2u);
  EXPECT_EQ(spec.word_steps,
            (std::vector<WordStep>{
                Metaspace{.mark = "_", .prefix = Metaspace::Prefix::kFirst, .split = false}}));
  EXPECT_EQ(spec.decoder.size(), 3u);
}

TEST(TokenizerJson, TemplateNamesBosAndEos) {
  const TokenizerSpec spec = parsed(
      {.post_processor = R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<t>"}},)"
                         R"({"Sequence":{"id":"A"}}],"special_tokens":{"<t>":{"ids":[3]}}})"});
  EXPECT_EQ(spec.prefix_ids, std::vector<int64_t>{3});
  EXPECT_TRUE(spec.suffix_ids.empty());
  EXPECT_EQ(spec.bos_id, 3);
}

TEST(TokenizerJson, ConfigOfLlamaClassesDecidesAboutBos) {
  TokenizerSpec spec = parsed({});
  ASSERT_TRUE(apply_tokenizer_config(R"({"bos_token":"<t>","add_bos_token":true})", spec).ok());
  EXPECT_TRUE(spec.prefix_ids.empty());
  ASSERT_TRUE(apply_tokenizer_config(R"({"bos_token":"<t>","add_bos_token":true,)"
                                     R"("tokenizer_class":"LlamaTokenizerFast"})",
                                     spec)
                  .ok());
  EXPECT_EQ(spec.prefix_ids, std::vector<int64_t>{3});
  ASSERT_TRUE(apply_tokenizer_config(
                  R"({"add_bos_token":false,"tokenizer_class":"LlamaTokenizerFast"})", spec)
                  .ok());
  EXPECT_TRUE(spec.prefix_ids.empty());
}

TEST(TokenizerJson, ConfigNamesTokensByTextOrObject) {
  TokenizerSpec spec = parsed({});
  const Status status = apply_tokenizer_config(
      R"({"bos_token":"<t>","eos_token":{"content":"ab"},"chat_template":"x"})", spec);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(spec.bos_id, 3);
  EXPECT_EQ(spec.eos_id, 2);
  ASSERT_TRUE(apply_tokenizer_config(R"({"bos_token":"unknown","eos_token":null})", spec).ok());
  EXPECT_EQ(spec.bos_id, 3);
}

TEST(TokenizerJson, OtherKindsAreRefusedByName) {
  refuse({.model = R"({"type":"WordPiece","vocab":{}})"}, "'WordPiece'");
  refuse({.model = R"({"vocab":{},"merges":[],"byte_fallback":true})"}, "byte_fallback");
  refuse({.model = R"({"vocab":{},"merges":[],"dropout":0.1})"}, "dropout");
  refuse({.model = R"({"vocab":{},"merges":[],"end_of_word_suffix":"</w>"})"}, "'</w>'");
  refuse({.normalizer = R"({"type":"BertNormalizer"})"}, "'BertNormalizer'");
  refuse({.pre_tokenizer = R"({"type":"BertPreTokenizer"})"}, "'BertPreTokenizer'");
  refuse({.post_processor = R"({"type":"X"})"}, "'X'");
  refuse({.decoder = R"({"type":"WordPiece"})"}, "'WordPiece'");
}

TEST(TokenizerJson, MergesOfUnknownTokensAreRefused) {
  refuse({.model = R"({"vocab":{"a":0,"b":1},"merges":["a b"]})"}, "'ab', which is not a token");
  refuse({.model = R"({"vocab":{"a":0},"merges":["a c"]})"}, "'c', which is not a token");
}

TEST(TokenizerJson, BrokenPartsAreRefused) {
  refuse({.model = R"({"vocab":{"a":-1},"merges":[]})"}, "vocab");
  refuse({.model = R"({"vocab":{"a":0.5},"merges":[]})"}, "vocab");
  refuse({.model = R"({"vocab":{"a":99999999999},"merges":[]})"}, "vocab");
  refuse({.model = R"({"vocab":{"a":0,"b":0},"merges":[]})"}, "both");
  refuse({.model = R"({"vocab":{"a":0,"a":1},"merges":[]})"}, "");
  refuse({.model = R"({"vocab":[],"merges":[]})"}, "vocab");
  refuse({.model = R"({"vocab":{}})"}, "merges");
  for (const char* merge : {"\"ab\"", "\"a b c\"", "[\"a\"]", "[\"a\",1]", "7"}) {
    refuse({.model = fmt::format(R"({{"vocab":{{"a":0,"b":1}},"merges":[{}]}})", merge)},
           "merges[0]");
  }
  refuse({.added = R"([{"id":0,"content":"b"}])"}, "both");
  refuse({.added = R"([{"id":-1,"content":"b"}])"}, "added_tokens[0]");
  refuse({.added = R"([{"id":9}])"}, "content");
  refuse({.pre_tokenizer = R"({"type":"Split","pattern":{},"behavior":"Isolated"})"}, "String");
  refuse(
      {.post_processor = R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<x>"}}],)"
                         R"("special_tokens":{}})"},
      "<x>");
  expect_refused(parse_tokenizer_json("[]"), "");
  expect_refused(parse_tokenizer_json(""), "");
}

TEST(TokenizerJson, UnigramVocabulariesAreListsOfTextsAndScores) {
  Source source;
  source.model = R"({"type":"Unigram","unk_id":0,"vocab":[["<unk>",0],["a",-1.5]],)"
                 R"("byte_fallback":true})";
  source.pre_tokenizer = R"({"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},)"
                         R"({"type":"Metaspace"}]})";
  source.decoder = R"({"type":"Metaspace"})";
  const TokenizerSpec spec = parsed(source);
  EXPECT_EQ(spec.model, TokenModel::kUnigram);
  EXPECT_EQ(spec.token_texts[1], "a");
  EXPECT_EQ(spec.scores, (std::vector<double>{0, -1.5}));
  EXPECT_EQ(spec.unknown_id, 0);
  EXPECT_EQ(spec.word_steps.size(), 2u);
}

TEST(TokenizerJson, BrokenUnigramVocabulariesAreRefused) {
  const auto refuse_vocabulary = [](std::string_view vocabulary, std::string_view part) {
    refuse({.model = fmt::format(R"({{"type":"Unigram","unk_id":0,"vocab":{}}})", vocabulary)},
           part);
  };
  refuse_vocabulary("{}", "vocab");
  refuse_vocabulary("[]", "unk_id");
  refuse_vocabulary(R"(["a"])", "model.vocab[0] is 'a'");
  refuse_vocabulary(R"([["a"]])", "model.vocab[0]");
  refuse_vocabulary(R"([["a",-1,2]])", "model.vocab[0]");
  refuse_vocabulary(R"([["a","b"]])", "model.vocab[0]");
  refuse_vocabulary(R"([["a",1e99]])", "model.vocab[0]");
  refuse_vocabulary(R"([[1,-1]])", "model.vocab[0]");
  refuse({.model = R"({"type":"Unigram","unk_id":1,"vocab":[["a",-1]]})"}, "unk_id");
  refuse({.model = R"({"type":"Unigram","unk_id":0,"vocab":[["a",-1]]})"}, "ByteLevel");
}

TEST(TokenizerJson, HugeIdsAndNumbersAreRefused) {
  const char* const kHuge = "4611686018427387904";  // 2^62
  refuse({.model = fmt::format(R"({{"vocab":{{"a":{}}},"merges":[]}})", kHuge)}, "vocab");
  refuse({.added = fmt::format(R"([{{"id":{},"content":"b"}}])", kHuge)}, "added_tokens[0]");
  refuse({.post_processor = fmt::format(R"({{"type":"RobertaProcessing","cls":["a",{}],)"
                                        R"("sep":["a",0]}})",
                                        kHuge)},
         "cls");
  refuse({.decoder = R"({"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"Strip",)"
                     R"("content":" ","start":9999,"stop":0}]})"},
         "start");
}

TEST(TokenizerJson, PartsWithoutEndAreRefused) {
  std::string nested = R"({"type":"NFC"})";
  for (int depth = 0; depth < 8; ++depth) {
    nested = R"({"type":"Sequence","normalizers":[)" + nested + "]}";
  }
  refuse({.normalizer = nested}, "deep");
  std::string many = R"({"type":"NFC"})";
  for (int i = 0; i < 100; ++i) many += R"(,{"type":"NFC"})";
  refuse({.normalizer = R"({"type":"Sequence","normalizers":[)" + many + "]}"}, "101 members");
}

TEST(TokenizerJson, SurvivesCutsAndFlips) {
  const std::string good = Source{}.text();
  survive_cuts_and_flips(good, good.size(),
                         [](const std::string& text) { return parse_tokenizer_json(text); });
}

}  // namespace
}  // namespace lockstep::formats
