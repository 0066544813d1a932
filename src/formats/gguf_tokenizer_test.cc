#include "formats/gguf_tokenizer.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "formats/chat_template_source.h"
#include "formats/testing/gguf_builder.h"
#include "formats/testing/refusal.h"

namespace lockstep::formats {
namespace {

StatusOr<TokenizerSpec> tokenizer(const GgufBuilder& builder) {
  const std::string file = builder.build();
  LOCKSTEP_ASSIGN_OR_RETURN(const GgufContents gguf, parse_gguf(as_bytes(file)));
  return tokenizer_from_gguf(gguf.metadata);
}

void refuse(const GgufBuilder& builder, std::string_view part) {
  expect_refused(tokenizer(builder), part);
}

GgufBuilder with_tokens(const std::vector<std::string>& tokens, const std::vector<int32_t>& types) {
  return tiny_llama_gguf()
      .set_strings("tokenizer.ggml.tokens", tokens)
      .set_i32s("tokenizer.ggml.token_type", types);
}

TEST(GgufTokenizer, MergesAreIdsInRankOrder) {
  const auto spec = tokenizer(tiny_llama_gguf());
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->model, TokenModel::kByteLevelBpe);
  EXPECT_EQ(spec->word_steps.size(), 2u);  // smollm
  EXPECT_EQ(spec->token_texts.size(), 6u);
  EXPECT_EQ(spec->merges, (std::vector<std::pair<int32_t, int32_t>>{{1, 2}, {4, 3}}));
  EXPECT_EQ(spec->merge_results, (std::vector<int32_t>{4, 5}));
  EXPECT_EQ(spec->bos_id, 0);
  EXPECT_EQ(spec->eos_id, 0);
  EXPECT_EQ(spec->unknown_id, -1);
  EXPECT_TRUE(spec->prefix_ids.empty());
}

TEST(GgufTokenizer, ControlAndUserDefinedTokensAreSpecial) {
  const auto spec =
      tokenizer(with_tokens({"<|end|>", "a", "b", "<tool>", "ab", "<unk>"}, {3, 1, 1, 4, 1, 2})
                    .set_strings("tokenizer.ggml.merges", {"a b"}));
  ASSERT_TRUE(spec.ok()) << spec.status();
  ASSERT_EQ(spec->specials.size(), 3u);
  EXPECT_EQ(spec->specials[0].text, "<|end|>");
  EXPECT_TRUE(spec->specials[0].control);
  EXPECT_EQ(spec->specials[1].id, 3);
  EXPECT_FALSE(spec->specials[1].control);
  EXPECT_TRUE(spec->specials[2].control);
}

TEST(GgufTokenizer, Llama3WantsBosAndWholeWordsUnlessTheFileSaysOtherwise) {
  GgufBuilder builder = tiny_llama_gguf().set_string("tokenizer.ggml.pre", "llama-bpe");
  EXPECT_EQ(tokenizer(builder)->prefix_ids, std::vector<int64_t>{0});
  EXPECT_TRUE(tokenizer(builder)->ignore_merges);
  builder.set_bool("tokenizer.ggml.add_bos_token", false);
  EXPECT_TRUE(tokenizer(builder)->prefix_ids.empty());
}

// Two characters and what they make, in SentencePiece's way.
GgufBuilder sentence_piece_gguf() {
  return with_tokens({"<unk>", "<s>", "</s>", "a", "ab", "b"}, {2, 3, 3, 1, 1, 1})
      .set_string("tokenizer.ggml.model", "llama")
      .set_f32s("tokenizer.ggml.scores", {0, 0, 0, -2, -1, -3})
      .remove("tokenizer.ggml.bos_token_id")
      .remove("tokenizer.ggml.eos_token_id");
}

TEST(GgufTokenizer, SentencePieceMergesByScore) {
  const auto spec = tokenizer(sentence_piece_gguf());
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->model, TokenModel::kCharacterBpe);
  EXPECT_EQ(spec->scores, (std::vector<double>{0, 0, 0, -2, -1, -3}));
  EXPECT_TRUE(spec->byte_fallback);
  EXPECT_EQ(spec->prefix_ids, std::vector<int64_t>{1});  // without a word of it in the file
  EXPECT_EQ(spec->eos_id, 2);
  EXPECT_EQ(spec->unknown_id, 0);
  EXPECT_EQ(spec->normalizer.size(), 2u);
}

TEST(GgufTokenizer, SpacePrefixIsLeftOutWhereTheFileSaysSo) {
  const auto spec =
      tokenizer(sentence_piece_gguf().set_bool("tokenizer.ggml.add_space_prefix", false));
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->normalizer.size(), 1u);
}

TEST(GgufTokenizer, ScoresMustBeThereAndNumbers) {
  refuse(sentence_piece_gguf().remove("tokenizer.ggml.scores"), "tokenizer.ggml.scores");
  refuse(sentence_piece_gguf().set_i32s("tokenizer.ggml.scores", {0, 0, 0, 0, 0, 0}),
         "expected F32");
}

TEST(GgufTokenizer, FileWithoutTokenizerIsNotFound) {
  const auto spec = tokenizer(tiny_llama_gguf().remove("tokenizer.ggml.model"));
  EXPECT_EQ(spec.status().code(), absl::StatusCode::kNotFound);
}

TEST(GgufTokenizer, OtherKindsAreRefusedByName) {
  refuse(tiny_llama_gguf().set_string("tokenizer.ggml.model", "rwkv"), "'rwkv' is not supported");
  refuse(tiny_llama_gguf().set_string("tokenizer.ggml.pre", "kimi"), "'kimi' is not supported");
}

TEST(GgufTokenizer, VocabularyArraysOfUnequalLengthAreRefused) {
  refuse(tiny_llama_gguf().set_i32s("tokenizer.ggml.token_type", {3, 1, 1, 1, 1}),
         "tokenizer.ggml.token_type has 5 entries but tokenizer.ggml.tokens has 6");
  refuse(tiny_llama_gguf().set_i32s("tokenizer.ggml.scores", {1}),
         "tokenizer.ggml.scores has 1 entries");
}

TEST(GgufTokenizer, ArraysOfTheWrongTypeAreRefused) {
  refuse(tiny_llama_gguf().set_i32s("tokenizer.ggml.tokens", {1, 2, 3, 4, 5, 6}),
         "expected strings");
  refuse(tiny_llama_gguf().set_string("tokenizer.ggml.tokens", "x"), "expected an array");
  refuse(tiny_llama_gguf().set_strings("tokenizer.ggml.token_type", {"1", "1", "1", "1", "1", "1"}),
         "is not an integer");
  refuse(tiny_llama_gguf().remove("tokenizer.ggml.merges"), "tokenizer.ggml.merges is missing");
}

TEST(GgufTokenizer, UnknownTokenTypesAreRefused) {
  for (const int32_t type : {-1, 0, 7, INT32_MAX}) {
    refuse(tiny_llama_gguf().set_i32s("tokenizer.ggml.token_type", {3, 1, 1, 1, 1, type}),
           "token_type[5] is not an integer in [1, 6]");
  }
}

TEST(GgufTokenizer, TokenLongerThanTheCapIsRefused) {
  refuse(with_tokens({"<|end|>", "a", "b", "c", "ab", std::string(4097, 'x')}, {3, 1, 1, 1, 1, 1}),
         "tokens[5] has 4097 bytes");
}

TEST(GgufTokenizer, TokenThatIsNotUtf8IsRefused) {
  refuse(with_tokens({"<|end|>", "a", "b", "c", "ab", "\xff"}, {3, 1, 1, 1, 1, 1}),
         "tokens[5] is not UTF-8");
}

TEST(GgufTokenizer, DuplicateTokensAreRefused) {
  refuse(with_tokens({"<|end|>", "a", "b", "c", "ab", "ab"}, {3, 1, 1, 1, 1, 1}),
         "tokens[5] 'ab' occurs twice");
}

TEST(GgufTokenizer, NoTokensAreRefused) { refuse(with_tokens({}, {}), "has 0 entries"); }

TEST(GgufTokenizer, MergesNamingUnknownTokensAreRefused) {
  for (const char* merge : {"a z", "z a", "b c"}) {  // bc is no token
    refuse(tiny_llama_gguf().set_strings("tokenizer.ggml.merges", {"a b", merge}),
           "merges[1] '" + std::string(merge) + "' names a token that does not exist");
  }
}

TEST(GgufTokenizer, MergesOfControlTokensAreRefused) {
  refuse(with_tokens({"<|end|>", "a", "b", "c", "ab", "abc"}, {3, 1, 3, 1, 1, 1}),
         "merges[0] 'a b' names a token that does not exist");
}

TEST(GgufTokenizer, MalformedMergesAreRefused) {
  for (const char* merge : {"", "ab", "a b c", "a  b"}) {
    refuse(tiny_llama_gguf().set_strings("tokenizer.ggml.merges", {merge}),
           "is not two tokens with one space between");
  }
}

TEST(GgufTokenizer, SpecialTokenWithoutTextIsRefused) {
  refuse(with_tokens({"", "a", "b", "c", "ab", "abc"}, {3, 1, 1, 1, 1, 1}),
         "special token without a text");
}

TEST(GgufTokenizer, IdsOutsideAnyVocabularyAreRefused) {
  refuse(tiny_llama_gguf().set_i32("tokenizer.ggml.bos_token_id", -1), "bos_token_id is -1");
  refuse(tiny_llama_gguf().set_u64("tokenizer.ggml.eos_token_id", uint64_t{1} << 31),
         "eos_token_id is 2147483648");
}

TEST(GgufTokenizer, ChatTemplateIsTakenAsItIs) {
  const std::string file = tiny_llama_gguf().build();
  const auto gguf = parse_gguf(as_bytes(file));
  EXPECT_EQ(*chat_template_from_gguf(gguf->metadata), "{{ messages[0].content }}");
}

TEST(GgufTokenizer, BadChatTemplatesAreRefused) {
  const auto chat_template = [](std::string_view text) {
    const std::string file = GgufBuilder().set_string("tokenizer.chat_template", text).build();
    const auto gguf = parse_gguf(as_bytes(file));
    return chat_template_from_gguf(gguf->metadata);
  };
  expect_refused(chat_template("\xc3("), "is not UTF-8");
  expect_refused(chat_template(std::string((1 << 20) + 1, ' ')), "at most 1048576");
  EXPECT_EQ(chat_template_from_gguf(GgufMetadata()).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace lockstep::formats
