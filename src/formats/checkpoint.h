// A checkpoint on disk, opened and fully checked: a Hugging Face directory (config.json +
// safetensors) or one .gguf file. Tensors stay memory-mapped; bytes are read when used.
//
// Thread rule: const methods from any thread. Views are valid while the Checkpoint lives and until
// their tensor is released.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/tensor_view.h"
#include "formats/generation_config.h"
#include "formats/model_config.h"
#include "formats/tensor_table.h"
#include "formats/tokenizer_spec.h"

namespace lockstep::formats {

class Checkpoint {
 public:
  virtual ~Checkpoint() = default;

  const ModelConfig& config() const { return config_; }
  const GenerationDefaults& generation() const { return generation_; }
  const std::string& path() const { return path_; }

  // Names in the file's own spelling, in file order.
  std::vector<std::string> tensor_names() const;
  bool has(std::string_view name) const;
  // not_found naming the tensor.
  StatusOr<TensorView> tensor(std::string_view name) const;
  // Gives the mapped pages of a tensor back to the system; a later read maps them again.
  virtual void release(std::string_view name) const = 0;

  // Text side; not_found when the checkpoint has no tokenizer (commands that need none never ask).
  virtual StatusOr<TokenizerSpec> tokenizer() const = 0;
  virtual StatusOr<std::string> chat_template() const = 0;

  int64_t file_bytes() const { return file_bytes_; }

 protected:
  virtual const TensorTable& table() const = 0;

  ModelConfig config_;
  GenerationDefaults generation_;
  std::string path_;
  int64_t file_bytes_ = 0;
};

// A directory with config.json, or a file that starts with GGUF's magic.
StatusOr<std::unique_ptr<Checkpoint>> open_checkpoint(const std::string& path);

// Hex SHA-256: the root over (name, dtype, shape, SHA-256 of the bytes) of every tensor in name
// order and the canonical config. Reads every byte.
StatusOr<std::string> model_digest(const Checkpoint& checkpoint);

}  // namespace lockstep::formats
