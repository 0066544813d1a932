// safetensors: uint64 header length, a JSON header {name: {dtype, shape, data_offsets}}, then the
// tensors' bytes. https://huggingface.co/docs/safetensors/index#format
//
// Accepted files are exact: offsets follow each other without gap or overlap up to the file's end,
// and every tensor's size is its shape times its type.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "base/status.h"
#include "formats/tensor_table.h"

namespace lockstep::formats {

struct SafetensorsContents {
  TensorTable tensors;  // in the order of their bytes
  std::map<std::string, std::string> metadata;
};

// A whole file's bytes, which the views borrow.
StatusOr<SafetensorsContents> parse_safetensors(std::span<const std::byte> file);

// {"weight_map": {tensor: shard}} of model.safetensors.index.json: pairs in file order. Shards are
// names of .safetensors files in the index's own folder.
StatusOr<std::vector<std::pair<std::string, std::string>>> parse_safetensors_index(
    std::string_view json);

// One file, or the shards of an index, mapped. Views are aligned to their element size: tensors
// that a file does not align are copied.
//
// Thread rule: const methods from any thread.
class SafetensorsModel {
 public:
  static StatusOr<SafetensorsModel> open_file(const std::string& path);
  // model.safetensors, else model.safetensors.index.json and its shards. not_found for neither.
  static StatusOr<SafetensorsModel> open_directory(const std::string& directory);

  const TensorTable& tensors() const { return tensors_; }
  uint64_t file_bytes() const;
  // Gives the mapped pages of one of tensors()' views back to the system.
  void release(const TensorView& view) const;

 private:
  static StatusOr<SafetensorsModel> open_index(const std::string& directory,
                                               std::string_view index_json);
  Status add_file(const std::string& path, std::vector<NamedTensor>& tensors);

  std::vector<MappedFile> files_;
  std::vector<std::unique_ptr<std::byte[]>> copies_;
  TensorTable tensors_;
};

}  // namespace lockstep::formats
