// Writes one safetensors file whose header is known up front, tensor by tensor, so that what is
// written is never held in memory whole. The file appears under its name only when complete.
//
//   LOCKSTEP_ASSIGN_OR_RETURN(auto writer, SafetensorsWriter::create(path, specs));
//   for (each row) LOCKSTEP_RETURN_IF_ERROR(writer.append(std::as_bytes(row)));
//   LOCKSTEP_RETURN_IF_ERROR(writer.finish());
//
// Thread rule: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/tensor_view.h"

namespace lockstep::formats {

struct TensorSpec {
  std::string name;
  DType dtype = DType::kF32;  // a plain type
  Shape shape;
};

class SafetensorsWriter {
 public:
  // Opens a temporary file beside `path` and writes the header; tensors lie in the order given.
  static StatusOr<SafetensorsWriter> create(const std::string& path,
                                            const std::vector<TensorSpec>& specs);
  SafetensorsWriter(SafetensorsWriter&&) = default;
  SafetensorsWriter& operator=(SafetensorsWriter&&) = delete;
  ~SafetensorsWriter();  // removes the temporary file when finish() has not succeeded

  // The next bytes, in order; a call may end inside a tensor. failed_precondition past the last.
  Status append(std::span<const std::byte> bytes);
  // All bytes of all tensors were appended: puts the file in its place.
  Status finish();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  SafetensorsWriter() = default;
  Status write(std::span<const std::byte> bytes);

  std::string path_;
  std::string temporary_path_;
  std::unique_ptr<std::FILE, Close> file_;
  uint64_t left_bytes_ = 0;
};

}  // namespace lockstep::formats
