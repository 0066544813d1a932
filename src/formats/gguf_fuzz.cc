#include <cstddef>
#include <cstdint>

#include "formats/gguf.h"
#include "formats/gguf_config.h"
#include "formats/gguf_tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockstep::formats;
  const auto file = std::as_bytes(std::span(data, size));
  const auto gguf = parse_gguf(file);
  if (!gguf.ok()) return 0;
  // Accepted tensors lie in the file, aligned as it says, and do not overlap.
  const std::byte* end = file.data();
  for (const NamedTensor& tensor : gguf->tensors.tensors()) {
    const auto bytes = tensor.view.bytes;
    if (bytes.data() < end || bytes.size() > size) __builtin_trap();
    if (static_cast<uint64_t>(bytes.data() - file.data()) % gguf->alignment != 0) __builtin_trap();
    end = bytes.data() + bytes.size();
  }
  if (end > file.data() + size) __builtin_trap();
  const auto config = config_from_gguf(*gguf);
  if (config.ok() && !check_model_config(*config).ok()) __builtin_trap();
  const auto spec = tokenizer_from_gguf(gguf->metadata);
  if (spec.ok() && spec->token_kinds.size() != spec->token_texts.size()) __builtin_trap();
  static_cast<void>(chat_template_from_gguf(gguf->metadata));
  return 0;
}
