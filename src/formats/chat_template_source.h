// Where a Hugging Face directory keeps its chat template, as text that nothing has run yet.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace lockstep::formats {

inline constexpr uint64_t kMaxTemplateBytes = 1 << 20;

// Size and UTF-8; `where` names the source in errors. For every route a template comes by.
StatusOr<std::string> check_chat_template(std::string_view text, std::string_view where);

// chat_template.jinja, else "chat_template" of tokenizer_config.json: a string, or a list of
// {name, template} with one named "default". not_found for none.
StatusOr<std::string> chat_template_from_directory(const std::string& directory);

}  // namespace lockstep::formats
