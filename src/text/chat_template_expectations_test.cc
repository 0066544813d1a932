// Against jinja2: tests/data/templates, written by scripts/make_template_expectations.py.
#include <gtest/gtest.h>

#include "base/mapped_file.h"
#include "formats/json.h"
#include "text/chat_template.h"

namespace lockstep::text {
namespace {

using formats::JsonArray;
using formats::JsonValue;

std::string data_file(std::string_view name) {
  auto text = read_file(fmt::format("tests/data/templates/{}", name), 1 << 20);
  EXPECT_TRUE(text.ok()) << text.status();
  return std::move(text).value_or("");
}

const JsonValue& member(const JsonValue& object, std::string_view key) {
  return *object.if_object()->find(key);
}

// A conversation's members: its messages, and further variables.
ChatInput input_of(const JsonValue& conversation, bool generation_prompt) {
  ChatInput input;
  input.messages = chat_messages(member(conversation, "messages")).value();
  input.add_generation_prompt = generation_prompt;
  input.bos_token = "<s>";
  input.eos_token = "</s>";
  input.now_unix_seconds = 1753435200;
  for (const formats::JsonMember& variable : conversation.if_object()->members()) {
    if (variable.key == "messages") continue;
    input.variables.emplace_back(variable.key, jinja::from_json(variable.value).value());
  }
  return input;
}

class PublishedConstructs : public testing::TestWithParam<const char*> {};

TEST_P(PublishedConstructs, RenderAsJinja2Does) {
  const auto expected = formats::parse_json(data_file("expected.json"), {});
  ASSERT_TRUE(expected.ok()) << expected.status();
  const JsonArray& conversations = *member(*expected, "conversations").if_array();
  const JsonArray& texts = *member(*expected, "texts").if_array();
  const JsonArray& renderings =
      *member(member(*expected, "renderings"), fmt::format("{}.jinja", GetParam())).if_array();
  ASSERT_EQ(renderings.size(), 2 * conversations.size());
  const auto chat = ChatTemplate::parse(data_file(fmt::format("{}.jinja", GetParam())));
  ASSERT_TRUE(chat.ok()) << chat.status();
  for (size_t i = 0; i < renderings.size(); ++i) {
    SCOPED_TRACE(fmt::format("conversation {}, generation prompt {}", i / 2, i % 2 == 0));
    const auto segments = chat->render(input_of(conversations[i / 2], i % 2 == 0));
    const std::string* text = texts[*renderings[i].if_int64()].if_string();  // null: an error
    EXPECT_EQ(segments.ok(), text != nullptr) << segments.status();
    if (!segments.ok() || text == nullptr) continue;
    std::string rendered;
    for (const Segment& segment : *segments) rendered += segment.text;
    EXPECT_EQ(rendered, *text);
  }
}

INSTANTIATE_TEST_SUITE_P(All, PublishedConstructs,
                         testing::Values("alternating_parts", "bracket_tools", "documents",
                                         "filters", "generation_marks", "json", "loops", "macros",
                                         "mode_flags", "one_liner", "reasoner_inline",
                                         "schema_macros", "strict_roles", "strings", "tests",
                                         "thinking_switch", "tool_header", "typescript_tools",
                                         "values", "whitespace"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace lockstep::text
