#include "formats/text_files.h"

#include <filesystem>

#include "base/mapped_file.h"
#include "base/vocabulary.h"
#include "formats/chat_template_source.h"
#include "formats/gguf.h"
#include "formats/gguf_tokenizer.h"
#include "formats/json.h"
#include "formats/tokenizer_json.h"

namespace lockstep::formats {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxConfigBytes = 4 << 20;
constexpr const char* kConfig = "tokenizer_config.json";

StatusOr<TokenizerSpec> read_tokenizer(const std::string& file, const std::string& directory) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string json, read_file(file, kMaxTokenizerJsonBytes));
  auto spec = parse_tokenizer_json(json);
  if (!spec.ok()) return annotate(spec.status(), fs::path(file).filename().string());
  const auto config = read_file(fmt::format("{}/{}", directory, kConfig), kMaxTokenizerConfigBytes);
  if (config.ok()) {
    const Status applied = apply_tokenizer_config(*config, *spec);
    LOCKSTEP_RETURN_IF_ERROR(annotate(applied, kConfig));
  } else if (!absl::IsNotFound(config.status())) {
    return config.status();
  }
  return spec;
}

// vocab_size, of the text model where there are several.
StatusOr<std::optional<int64_t>> configured_vocabulary(const std::string& directory) {
  const auto json = read_file(directory + "/config.json", kMaxConfigBytes);
  if (absl::IsNotFound(json.status())) return std::optional<int64_t>();
  if (!json.ok()) return json.status();
  auto root = parse_json(*json, {.max_bytes = kMaxConfigBytes});
  if (!root.ok()) return annotate(root.status(), "config.json");
  LOCKSTEP_ASSIGN_OR_RETURN(JsonFields config, JsonFields::of(*root, "config.json"));
  if (config.has("text_config")) {
    LOCKSTEP_ASSIGN_OR_RETURN(config, config.object("text_config"));
  }
  if (!config.has("vocab_size")) return std::optional<int64_t>();
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t size,
                            config.integer("vocab_size", 1, Vocabulary::kMaxSize));
  return std::optional(size);
}

Status take_template(const StatusOr<std::string>& source, TextFiles& files) {
  if (source.ok()) {
    files.chat_template = *source;
  } else if (!absl::IsNotFound(source.status())) {
    return source.status();
  }
  return ok_status();
}

StatusOr<TextFiles> from_json_files(const std::string& file, const std::string& directory) {
  TextFiles files;
  LOCKSTEP_ASSIGN_OR_RETURN(files.tokenizer, read_tokenizer(file, directory));
  LOCKSTEP_ASSIGN_OR_RETURN(const auto configured, configured_vocabulary(directory));
  files.vocabulary_size =
      configured.value_or(static_cast<int64_t>(files.tokenizer.token_texts.size()));
  LOCKSTEP_RETURN_IF_ERROR(take_template(chat_template_from_directory(directory), files));
  return files;
}

StatusOr<TextFiles> from_gguf(std::span<const std::byte> bytes) {
  LOCKSTEP_ASSIGN_OR_RETURN(const GgufContents contents, parse_gguf(bytes));
  TextFiles files;
  LOCKSTEP_ASSIGN_OR_RETURN(files.tokenizer, tokenizer_from_gguf(contents.metadata));
  files.vocabulary_size = static_cast<int64_t>(files.tokenizer.token_texts.size());
  LOCKSTEP_RETURN_IF_ERROR(take_template(chat_template_from_gguf(contents.metadata), files));
  return files;
}

}  // namespace

StatusOr<TokenizerSpec> tokenizer_from_directory(const std::string& directory) {
  return read_tokenizer(directory + "/tokenizer.json", directory);
}

StatusOr<TextFiles> read_text_files(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return from_json_files(path + "/tokenizer.json", path);
  LOCKSTEP_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::open(path, kMaxModelFileBytes));
  if (!begins_with_gguf_magic(file.bytes())) {
    const fs::path parent = fs::path(path).parent_path();
    return from_json_files(path, parent.empty() ? "." : parent.string());
  }
  auto files = from_gguf(file.bytes());
  if (!files.ok()) return annotate(files.status(), fs::path(path).filename().string());
  return files;
}

}  // namespace lockstep::formats
