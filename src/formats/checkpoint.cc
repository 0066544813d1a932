#include "formats/checkpoint.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "formats/chat_template_source.h"
#include "formats/config_json.h"
#include "formats/gguf.h"
#include "formats/gguf_config.h"
#include "formats/gguf_tokenizer.h"
#include "formats/safetensors.h"
#include "formats/text_files.h"

namespace lockstep::formats {
namespace {

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// `result`, with the file's name in front of an error.
template <class T>
StatusOr<T> in_file(std::string_view name, StatusOr<T> result) {
  if (!result.ok()) return annotate(result.status(), name);
  return result;
}

class HuggingFaceCheckpoint final : public Checkpoint {
 public:
  static StatusOr<std::unique_ptr<Checkpoint>> open(const std::string& directory) {
    auto out = std::make_unique<HuggingFaceCheckpoint>();
    out->path_ = directory;
    LOCKSTEP_ASSIGN_OR_RETURN(const std::string config,
                              read_file(directory + "/config.json", kMaxConfigBytes));
    LOCKSTEP_ASSIGN_OR_RETURN(out->config_, in_file("config.json", parse_config_json(config)));
    const auto generation = read_file(directory + "/generation_config.json", kMaxConfigBytes);
    if (generation.ok()) {
      LOCKSTEP_ASSIGN_OR_RETURN(out->generation_, in_file("generation_config.json",
                                                          parse_generation_config(*generation)));
    } else if (generation.status().code() != absl::StatusCode::kNotFound) {
      return generation.status();
    }
    LOCKSTEP_ASSIGN_OR_RETURN(out->model_, SafetensorsModel::open_directory(directory));
    out->file_bytes_ = static_cast<int64_t>(out->model_.file_bytes());
    return std::unique_ptr<Checkpoint>(std::move(out));
  }

  void release(std::string_view name) const override {
    if (const TensorView* view = table().find(name)) model_.release(*view);
  }
  StatusOr<TokenizerSpec> tokenizer() const override { return tokenizer_from_directory(path_); }
  StatusOr<std::string> chat_template() const override {
    return chat_template_from_directory(path_);
  }

 private:
  const TensorTable& table() const override { return model_.tensors(); }
  SafetensorsModel model_;
};

class GgufCheckpoint final : public Checkpoint {
 public:
  static StatusOr<std::unique_ptr<Checkpoint>> open(const std::string& path, MappedFile file) {
    auto out = std::make_unique<GgufCheckpoint>(std::move(file));
    out->path_ = path;
    out->file_bytes_ = static_cast<int64_t>(out->file_.bytes().size());
    const std::string name = base_name(path);
    LOCKSTEP_ASSIGN_OR_RETURN(out->contents_, in_file(name, parse_gguf(out->file_.bytes())));
    LOCKSTEP_ASSIGN_OR_RETURN(out->config_, in_file(name, config_from_gguf(out->contents_)));
    return std::unique_ptr<Checkpoint>(std::move(out));
  }
  explicit GgufCheckpoint(MappedFile file) : file_(std::move(file)) {}

  void release(std::string_view name) const override {
    if (const TensorView* view = table().find(name)) file_.advise_dont_need(view->bytes);
  }
  StatusOr<TokenizerSpec> tokenizer() const override {
    return in_file(base_name(path_), tokenizer_from_gguf(contents_.metadata));
  }
  StatusOr<std::string> chat_template() const override {
    return in_file(base_name(path_), chat_template_from_gguf(contents_.metadata));
  }

 private:
  const TensorTable& table() const override { return contents_.tensors; }
  MappedFile file_;
  GgufContents contents_;
};

}  // namespace

std::vector<std::string> Checkpoint::tensor_names() const {
  std::vector<std::string> names;
  for (const NamedTensor& tensor : table().tensors()) names.push_back(tensor.name);
  return names;
}

bool Checkpoint::has(std::string_view name) const { return table().find(name) != nullptr; }

StatusOr<TensorView> Checkpoint::tensor(std::string_view name) const {
  if (const TensorView* view = table().find(name)) return *view;
  return not_found("tensor {} is missing", quote_text(name));
}

StatusOr<std::unique_ptr<Checkpoint>> open_checkpoint(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
    return HuggingFaceCheckpoint::open(path);
  }
  LOCKSTEP_ASSIGN_OR_RETURN(MappedFile file, MappedFile::open(path, kMaxModelFileBytes));
  if (!begins_with_gguf_magic(file.bytes())) {
    return invalid_argument(
        "{} is neither a GGUF file nor a directory with config.json and safetensors",
        quote_text(path));
  }
  return GgufCheckpoint::open(path, std::move(file));
}

StatusOr<std::string> model_digest(const Checkpoint& checkpoint) {
  std::vector<std::string> names = checkpoint.tensor_names();
  std::sort(names.begin(), names.end());
  ByteWriter root;
  root.sized_text(canonical_json(checkpoint.config()));
  for (const std::string& name : names) {
    LOCKSTEP_ASSIGN_OR_RETURN(const TensorView view, checkpoint.tensor(name));
    root.sized_text(name);
    root.sized_text(dtype_name(view.dtype));
    root.number<uint64_t>(view.shape.size());
    for (const int64_t size : view.shape) root.number(size);
    root.text(hex(Sha256::of(view.bytes)));
    checkpoint.release(name);
  }
  return hex(Sha256::of(root.bytes()));
}

}  // namespace lockstep::formats
