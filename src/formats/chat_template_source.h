// Where a checkpoint keeps its chat templates, as text that nothing has run yet.
//
// A checkpoint may have several, by name. As in the transformers library: a conversation with tools
// takes "tool_use", one with documents "rag", where there is such a one, and all others "default".
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "formats/gguf.h"

namespace lockstep::formats {

inline constexpr uint64_t kMaxTemplateBytes = 1 << 20;

enum class TemplateUse : uint8_t { kChat, kTools, kDocuments };

// Size and UTF-8; `where` names the source in errors. For every route a template comes by.
StatusOr<std::string> check_chat_template(std::string_view text, std::string_view where);

// The first of these that there is, not_found for none:
//   additional_chat_templates/NAME.jinja (for "tool_use" and "rag"),
//   chat_template.jinja,
//   "chat_template" of tokenizer_config.json: a string, or a list of {name, template},
//   "chat_template" of chat_template.json.
StatusOr<std::string> chat_template_from_directory(const std::string& directory,
                                                   TemplateUse use = TemplateUse::kChat);

// tokenizer.chat_template.NAME, else tokenizer.chat_template. not_found when the file has none.
StatusOr<std::string> chat_template_from_gguf(const GgufMetadata& metadata,
                                              TemplateUse use = TemplateUse::kChat);

}  // namespace lockstep::formats
