// Against outside implementations: tests/data/text, written by scripts/make_text_expectations.py.
#include <gtest/gtest.h>

#include "base/mapped_file.h"
#include "formats/json.h"
#include "formats/tokenizer_json.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace lockstep::text {
namespace {

using formats::JsonArray;
using formats::JsonObject;
using formats::JsonValue;

constexpr uint64_t kMaxFileBytes = 1 << 20;

std::string data_file(std::string_view name) {
  auto text = read_file(fmt::format("tests/data/text/{}", name), kMaxFileBytes);
  EXPECT_TRUE(text.ok()) << text.status();
  return std::move(text).value_or("");
}

JsonValue data_json(std::string_view name) {
  auto json = formats::parse_json(data_file(name), {});
  EXPECT_TRUE(json.ok()) << json.status();
  return std::move(json).value_or(JsonValue());
}

const JsonValue& member(const JsonValue& object, std::string_view key) {
  return *object.if_object()->find(key);
}

std::vector<int64_t> integers(const JsonValue& array) {
  std::vector<int64_t> out;
  for (const JsonValue& value : *array.if_array()) out.push_back(*value.if_int64());
  return out;
}

std::vector<int64_t> integers(const std::vector<TokenId>& ids) {
  std::vector<int64_t> out;
  for (const TokenId id : ids) out.push_back(id.value());
  return out;
}

class TokenizerExpectations : public testing::TestWithParam<const char*> {};

TEST_P(TokenizerExpectations, IdsAndTextsAreThoseOfTheTokenizersPackage) {
  const auto spec = formats::parse_tokenizer_json(data_file(fmt::format("{}.json", GetParam())));
  ASSERT_TRUE(spec.ok()) << spec.status();
  const auto vocabulary = Vocabulary::create(static_cast<int64_t>(spec->token_texts.size()));
  const auto tokenizer = Tokenizer::create(*spec, *vocabulary);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  const JsonValue expected = data_json(fmt::format("{}_expected.json", GetParam()));
  for (const JsonValue& one : *member(expected, "cases").if_array()) {
    const std::string& text = *member(one, "text").if_string();
    SCOPED_TRACE(formats::json_escaped(text));
    const auto ids = tokenizer->encode(text);
    ASSERT_TRUE(ids.ok()) << ids.status();
    EXPECT_EQ(integers(*ids), integers(member(one, "ids")));
    EXPECT_EQ(tokenizer->decode(*ids, Specials::kShow), *member(one, "decoded").if_string());
    const auto with_specials = tokenizer->encode(text, {.add_specials = true});
    EXPECT_EQ(integers(*with_specials), integers(member(one, "ids_special")));
  }
}

INSTANTIATE_TEST_SUITE_P(Trained, TokenizerExpectations,
                         testing::Values("llama3_like", "smollm_like", "own_splits", "llama2_like",
                                         "metaspace_first", "unigram_like"));

TEST(TemplateExpectations, TextsAreThoseOfJinja2) {
  const JsonValue expected = data_json("template_expected.json");
  ChatInput input;
  input.messages = chat_messages(member(expected, "messages")).value();
  input.bos_token = "<s>";
  input.eos_token = "</s>";
  input.now_unix_seconds = 1753435200;
  for (const auto& variable : member(expected, "variables").if_object()->members()) {
    input.variables.emplace_back(variable.key, jinja::from_json(variable.value).value());
  }
  for (const JsonValue& one : *member(expected, "cases").if_array()) {
    const std::string& source = *member(one, "template").if_string();
    SCOPED_TRACE(source);
    const auto chat = ChatTemplate::parse(source);
    const auto segments = chat.ok() ? chat->render(input) : chat.status();
    const std::string* text = member(one, "text").if_string();
    EXPECT_EQ(segments.ok(), text != nullptr) << segments.status();
    if (!segments.ok() || text == nullptr) continue;
    std::string rendered;
    for (const Segment& segment : *segments) rendered += segment.text;
    EXPECT_EQ(rendered, *text);
  }
}

}  // namespace
}  // namespace lockstep::text
