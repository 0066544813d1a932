// A conversation to the text that a model was trained on, by the model's own Jinja template.
//
// The template is data from a file and runs in a sandbox: it can compute with the values given to
// it and nothing else, within budgets for steps, memory, depth and output. It behaves as in the
// transformers library: trim_blocks, lstrip_blocks, loop controls, `generation` blocks,
// raise_exception, strftime_now, and `tojson` without HTML escapes. docs/templates.md lists what is
// refused and what differs.
//
//   LOCKSTEP_ASSIGN_OR_RETURN(auto chat, ChatTemplate::parse(source));
//   LOCKSTEP_ASSIGN_OR_RETURN(auto messages, chat_messages({{{"user", "Hi"}}}));
//   LOCKSTEP_ASSIGN_OR_RETURN(auto segments, chat.render({.messages = messages}));
//   LOCKSTEP_ASSIGN_OR_RETURN(auto ids, tokenizer.encode(segments));
//
// Thread rule: const methods from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "formats/json.h"
#include "text/jinja/limits.h"
#include "text/jinja/value.h"
#include "text/segment.h"

namespace lockstep::text {

struct ChatMessage {
  std::string role;
  std::string content;
};

// As a list of {"role", "content"} for ChatInput. Roles are a closed list (system, developer, user,
// assistant, tool, function, ipython, model) and so count as template text: templates build markers
// out of them, like '<|' + role + '|>'. invalid_argument for another role or invalid UTF-8.
StatusOr<jinja::Value> chat_messages(std::span<const ChatMessage> messages);

// The same for an array of JSON objects, which may hold more members (tool_calls, content parts).
StatusOr<jinja::Value> chat_messages(const formats::JsonValue& messages);

struct ChatInput {
  jinja::Value messages = {};
  bool add_generation_prompt = true;
  // Texts of the tokenizer's tokens; a template sees an absent one as undefined.
  std::optional<std::string> bos_token = std::nullopt;
  std::optional<std::string> eos_token = std::nullopt;
  // Further variables: tools, documents (none unless given), enable_thinking, ...
  std::vector<std::pair<std::string, jinja::Value>> variables = {};
  int64_t now_unix_seconds = 0;  // what strftime_now shows, as UTC
};

class ChatTemplate {
 public:
  static constexpr size_t kMaxSourceBytes = size_t{1} << 20;

  // invalid_argument naming the line, for syntax errors and for filters, tests and statements that
  // do not exist here (include, import, extends).
  static StatusOr<ChatTemplate> parse(std::string_view source);
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();

  // Neighbouring segments differ in origin. invalid_argument when the template raises an exception
  // or misuses a value.
  StatusOr<std::vector<Segment>> render(const ChatInput& input,
                                        const jinja::Limits& limits = {}) const;

 private:
  struct Program;
  explicit ChatTemplate(std::unique_ptr<const Program> program);
  std::unique_ptr<const Program> program_;
};

}  // namespace lockstep::text
