#include "formats/chat_template_source.h"

#include "base/mapped_file.h"
#include "base/text.h"
#include "formats/json.h"
#include "formats/tokenizer_json.h"

namespace lockstep::formats {
namespace {

constexpr std::string_view kKey = "chat_template";

StatusOr<std::string> from_named_list(const JsonArray& list) {
  for (const JsonValue& entry : list) {
    LOCKSTEP_ASSIGN_OR_RETURN(const JsonFields fields, JsonFields::of(entry, std::string(kKey)));
    LOCKSTEP_ASSIGN_OR_RETURN(const std::string name, fields.string("name"));
    if (name == "default") return fields.string("template");
  }
  return not_found("{} has no template named 'default'", kKey);
}

StatusOr<std::string> from_tokenizer_config(std::string_view json) {
  const JsonLimits limits{.max_bytes = kMaxTokenizerConfigBytes, .max_values = 1 << 20};
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonValue root, parse_json(json, limits));
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonFields fields, JsonFields::of(root, ""));
  const JsonValue* value = fields.find(kKey);
  if (value == nullptr) return not_found("{} is missing", kKey);
  if (const JsonArray* list = value->if_array()) return from_named_list(*list);
  return json_string(*value, kKey);
}

}  // namespace

StatusOr<std::string> check_chat_template(std::string_view text, std::string_view where) {
  if (text.size() > kMaxTemplateBytes) {
    return invalid_argument("{} has {} bytes; at most {} are allowed", where, text.size(),
                            kMaxTemplateBytes);
  }
  if (!valid_utf8(text)) return invalid_argument("{} is not UTF-8", where);
  return std::string(text);
}

StatusOr<std::string> chat_template_from_directory(const std::string& directory) {
  constexpr std::string_view kJinja = "chat_template.jinja";
  constexpr std::string_view kConfig = "tokenizer_config.json";
  const auto jinja = read_file(fmt::format("{}/{}", directory, kJinja), kMaxTemplateBytes);
  if (jinja.ok()) return check_chat_template(*jinja, kJinja);
  if (jinja.status().code() != absl::StatusCode::kNotFound) return jinja.status();
  const auto json = read_file(fmt::format("{}/{}", directory, kConfig), kMaxTokenizerConfigBytes);
  if (json.status().code() == absl::StatusCode::kNotFound) {
    return not_found("{} has neither {} nor {}", quote_text(directory), kJinja, kConfig);
  }
  if (!json.ok()) return json.status();
  auto text = from_tokenizer_config(*json);
  if (!text.ok()) return annotate(text.status(), kConfig);
  return check_chat_template(*text, kKey);
}

}  // namespace lockstep::formats
