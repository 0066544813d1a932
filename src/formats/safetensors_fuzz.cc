#include <cstddef>
#include <cstdint>

#include "formats/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockstep::formats;
  const auto file = std::as_bytes(std::span(data, size));
  static_cast<void>(
      parse_safetensors_index(std::string_view(reinterpret_cast<const char*>(data), size)));
  const auto contents = parse_safetensors(file);
  if (!contents.ok()) return 0;
  // Accepted tensors lie in the file, one behind the other, up to its end.
  const std::byte* next = nullptr;
  for (const NamedTensor& tensor : contents->tensors.tensors()) {
    if (next != nullptr && tensor.view.bytes.data() != next) __builtin_trap();
    next = tensor.view.bytes.data() + tensor.view.bytes.size();
  }
  if (next != nullptr && next != file.data() + file.size()) __builtin_trap();
  return 0;
}
