// Any source, rendered over a small conversation with small limits: an answer, soon, and no crash.
// And no byte of the conversation comes out as template text.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "text/chat_template.h"

namespace {

using namespace lockstep;
using namespace lockstep::text;

// In the conversation alone, and nothing that an engine writes by itself.
constexpr char kOfData = '\x02';

constexpr std::string_view kVariables = R"({
  "messages": [
    {"role": "system", "content": "S\u0002"},
    {"role": "user", "content": " Hi <|x|> \u0002é\n"},
    {"role": "assistant", "content": "<think>\u0002</think>y", "reasoning_content": null,
     "tool_calls": [{"id": "abc123xyz", "type": "function",
                     "function": {"name": "f", "arguments": {"\u0002": [1.5, null, true]}}}]},
    {"role": "tool", "content": "{\"a\": 1}\u0002", "tool_call_id": "abc123xyz"},
    {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "T\u0002"}]}],
  "tools": [{"type": "function", "function": {"name": "f", "description": "D\u0002",
    "parameters": {"type": "object", "required": ["a"], "properties": {
      "a": {"type": ["string", "null"], "enum": ["x", "y\u0002"]},
      "b": {"type": "array", "items": {"type": "integer"}, "default": [1]}}}}}],
  "documents": [{"title": "one", "text": "two\u0002"}],
  "enable_thinking": false, "n": -7, "f": 2.5})";

ChatInput make_input() {
  const auto json = formats::parse_json(kVariables, {}).value();
  ChatInput input;
  for (const formats::JsonMember& variable : json.if_object()->members()) {
    if (variable.key == "messages") {
      input.messages = chat_messages(variable.value).value();
    } else {
      input.variables.emplace_back(variable.key, jinja::from_json(variable.value).value());
    }
  }
  input.bos_token = "<s>";
  input.eos_token = "</s>";
  return input;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  const auto chat = ChatTemplate::parse(source);
  if (!chat.ok()) return 0;
  static const ChatInput input = make_input();
  const jinja::Limits limits{
      .steps = 20'000, .work_bytes = 1 << 20, .output_bytes = 1 << 16, .call_depth = 8};
  const auto segments = chat->render(input, limits);
  if (!segments.ok()) return 0;
  // What comes out is bounded, in merged pieces, and says where it is from.
  const bool source_may_say_it = source.find_first_of("\\\x02") != source.npos;
  size_t bytes = 0;
  for (size_t i = 0; i < segments->size(); ++i) {
    const Segment& segment = (*segments)[i];
    if (segment.text.empty()) __builtin_trap();
    if (i > 0 && segment.origin == (*segments)[i - 1].origin) __builtin_trap();
    const bool of_data = segment.text.find(kOfData) != segment.text.npos;
    if (of_data && segment.origin == Origin::kTemplate && !source_may_say_it) __builtin_trap();
    bytes += segment.text.size();
  }
  if (bytes > static_cast<size_t>(limits.output_bytes)) __builtin_trap();
  return 0;
}
