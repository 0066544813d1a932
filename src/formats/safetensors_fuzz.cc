#include <cstddef>
#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "formats/safetensors.h"

namespace {

using namespace lockstep;
using namespace lockstep::formats;

void check(std::string_view bytes) {
  const auto file = as_bytes(bytes);
  const auto contents = parse_safetensors(file);
  if (!contents.ok()) return;
  // Accepted tensors lie in the file, one behind the other, up to its end.
  const std::byte* next = nullptr;
  for (const NamedTensor& tensor : contents->tensors.tensors()) {
    if (next != nullptr && tensor.view.bytes.data() != next) __builtin_trap();
    next = tensor.view.bytes.data() + tensor.view.bytes.size();
  }
  if (next != nullptr && next != file.data() + file.size()) __builtin_trap();
}

}  // namespace

// The input as a file, as an index, and as a header with its length in front and as many bytes of
// data behind as its first two bytes say, so that a change of the header does not spoil the rest.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(text);
  static_cast<void>(parse_safetensors_index(text));
  if (size < 2) return 0;
  const std::string_view header = text.substr(2);
  ByteWriter file;
  file.number<uint64_t>(header.size());
  file.text(header);
  file.text(std::string(data[0] + 256 * data[1] % 4096, '\0'));
  check(file.str());
  return 0;
}
