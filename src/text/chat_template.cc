#include "text/chat_template.h"

#include <algorithm>

#include "base/text.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/parser.h"
#include "text/jinja/runtime.h"

namespace lockstep::text {
namespace {

using jinja::Value;

constexpr std::string_view kRoles[] = {"system", "developer", "user",    "assistant",
                                       "tool",   "function",  "ipython", "model"};

StatusOr<Value> role_value(std::string_view role) {
  const auto known = std::ranges::find(kRoles, role);
  if (known != std::end(kRoles)) return Value::text(std::string(*known), Origin::kTemplate);
  return invalid_argument(
      "role {}; allowed: system, developer, user, assistant, tool, function, ipython, model",
      quote_text(role));
}

Value key(std::string_view name) { return Value::text(std::string(name), Origin::kTemplate); }

// A message's members, its role by the closed list.
StatusOr<Value> message_value(const formats::JsonValue& json) {
  LOCKSTEP_ASSIGN_OR_RETURN(const auto fields, formats::JsonFields::of(json, ""));
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string role, fields.string("role"));
  std::vector<std::pair<Value, Value>> entries;
  for (const formats::JsonMember& member : json.if_object()->members()) {
    LOCKSTEP_ASSIGN_OR_RETURN(
        Value value, member.key == "role" ? role_value(role) : jinja::from_json(member.value));
    entries.emplace_back(Value::text(member.key, Origin::kData), std::move(value));
  }
  return Value::dict(std::move(entries));
}

}  // namespace

struct ChatTemplate::Program {
  jinja::Body body;
};

ChatTemplate::ChatTemplate(std::unique_ptr<const Program> program) : program_(std::move(program)) {}
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

StatusOr<Value> chat_messages(std::span<const ChatMessage> messages) {
  std::vector<Value> items;
  for (const ChatMessage& message : messages) {
    if (const size_t valid = valid_utf8_prefix(message.content); valid < message.content.size()) {
      return invalid_argument("message {} is not UTF-8 at byte {}", items.size(), valid);
    }
    LOCKSTEP_ASSIGN_OR_RETURN(Value role, role_value(message.role));
    LOCKSTEP_ASSIGN_OR_RETURN(
        Value item, Value::dict({{key("role"), std::move(role)},
                                 {key("content"), Value::text(message.content, Origin::kData)}}));
    items.push_back(std::move(item));
  }
  return Value::list(std::move(items));
}

StatusOr<Value> chat_messages(const formats::JsonValue& messages) {
  const formats::JsonArray* array = messages.if_array();
  if (array == nullptr) {
    return invalid_argument("messages are {}; expected an array", messages.describe());
  }
  std::vector<Value> items;
  for (const formats::JsonValue& message : *array) {
    auto item = message_value(message);
    if (!item.ok()) return annotate(item.status(), fmt::format("messages[{}]", items.size()));
    items.push_back(*std::move(item));
  }
  return Value::list(std::move(items));
}

StatusOr<ChatTemplate> ChatTemplate::parse(std::string_view source) {
  if (source.size() > kMaxSourceBytes) {
    return invalid_argument("chat template of {} bytes; at most {} are allowed", source.size(),
                            kMaxSourceBytes);
  }
  if (const size_t valid = valid_utf8_prefix(source); valid < source.size()) {
    return invalid_argument("chat template is not UTF-8 at byte {}", valid);
  }
  auto body = jinja::parse_template(source);
  if (!body.ok()) return annotate(body.status(), "chat template");
  return ChatTemplate(std::unique_ptr<const Program>(new Program{*std::move(body)}));
}

StatusOr<std::vector<Segment>> ChatTemplate::render(const ChatInput& input,
                                                    const jinja::Limits& limits) const {
  jinja::Scope variables(nullptr);
  variables.set("messages", input.messages);
  variables.set("add_generation_prompt", Value::boolean(input.add_generation_prompt));
  variables.set("tools", Value());
  variables.set("documents", Value());
  if (input.bos_token) variables.set("bos_token", key(*input.bos_token));
  if (input.eos_token) variables.set("eos_token", key(*input.eos_token));
  for (const auto& [name, value] : input.variables) variables.set(name, value);
  jinja::Runtime runtime(limits, input.now_unix_seconds);
  auto text = jinja::render(program_->body, variables, runtime);
  if (!text.ok()) return annotate(text.status(), "chat template");
  return text->segments();
}

}  // namespace lockstep::text
