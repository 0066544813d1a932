#include "formats/chat_template_source.h"

#include <optional>

#include "base/mapped_file.h"
#include "base/text.h"
#include "formats/json.h"
#include "formats/tokenizer_json.h"

namespace lockstep::formats {
namespace {

constexpr std::string_view kKey = "chat_template";
constexpr std::string_view kDefault = "default";

std::string_view name_of(TemplateUse use) {
  constexpr std::string_view kNames[] = {kDefault, "tool_use", "rag"};
  return kNames[static_cast<size_t>(use)];
}

// Whether the search ends here: with a template, or with a fault.
bool is_final(const StatusOr<std::string>& found) {
  return found.ok() || !absl::IsNotFound(found.status());
}

StatusOr<std::string> from_named_list(const JsonArray& list, TemplateUse use) {
  std::optional<std::string> chosen;
  std::optional<std::string> fallback;
  for (const JsonValue& entry : list) {
    LOCKSTEP_ASSIGN_OR_RETURN(const JsonFields fields, JsonFields::of(entry, std::string(kKey)));
    LOCKSTEP_ASSIGN_OR_RETURN(const std::string name, fields.string("name"));
    LOCKSTEP_ASSIGN_OR_RETURN(std::string text, fields.string("template"));
    std::optional<std::string>& slot = name == name_of(use) ? chosen : fallback;
    if (name != name_of(use) && name != kDefault) continue;
    if (slot.has_value()) {
      return invalid_argument("{} has two templates named {}", kKey, quote_text(name));
    }
    slot = std::move(text);
  }
  if (chosen.has_value()) return *std::move(chosen);
  if (fallback.has_value()) return *std::move(fallback);
  return not_found("{} has no template named '{}'", kKey, kDefault);
}

StatusOr<std::string> from_json(std::string_view json, TemplateUse use) {
  const JsonLimits limits{.max_bytes = kMaxTokenizerConfigBytes, .max_values = 1 << 20};
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonValue root, parse_json(json, limits));
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonFields fields, JsonFields::of(root, ""));
  const JsonValue* value = fields.find(kKey);
  if (value == nullptr) return not_found("{} is missing", kKey);
  if (const JsonArray* list = value->if_array()) return from_named_list(*list, use);
  return json_string(*value, kKey);
}

StatusOr<std::string> from_json_file(const std::string& directory, std::string_view name,
                                     TemplateUse use) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string json, read_file(fmt::format("{}/{}", directory, name),
                                                              kMaxTokenizerConfigBytes));
  const auto text = from_json(json, use);
  if (!text.ok()) return annotate(text.status(), name);
  return check_chat_template(*text, kKey);
}

StatusOr<std::string> from_text_file(const std::string& directory, std::string_view name) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string text,
                            read_file(fmt::format("{}/{}", directory, name), kMaxTemplateBytes));
  return check_chat_template(text, name);
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

StatusOr<std::string> chat_template_from_directory(const std::string& directory, TemplateUse use) {
  if (use != TemplateUse::kChat) {
    auto named =
        from_text_file(directory, fmt::format("additional_chat_templates/{}.jinja", name_of(use)));
    if (is_final(named)) return named;
  }
  auto text = from_text_file(directory, "chat_template.jinja");
  for (const std::string_view name : {"tokenizer_config.json", "chat_template.json"}) {
    if (!is_final(text)) text = from_json_file(directory, name, use);
  }
  if (is_final(text)) return text;
  return not_found("{} has no chat template", quote_text(directory));
}

StatusOr<std::string> chat_template_from_gguf(const GgufMetadata& metadata, TemplateUse use) {
  constexpr std::string_view kGgufKey = "tokenizer.chat_template";
  std::string key = fmt::format("{}.{}", kGgufKey, name_of(use));
  if (!metadata.has(key)) key = kGgufKey;
  if (!metadata.has(key)) return not_found("the file has no chat template ({})", key);
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string_view text, metadata.string(key));
  return check_chat_template(text, key);
}

}  // namespace lockstep::formats
