#include <cstddef>
#include <cstdint>

#include "formats/json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockstep::formats;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto root = parse_json(text, {});
  if (!root.ok()) return 0;
  // Whatever was accepted can be described and, a string, written and read back as it was.
  root->describe();
  if (const std::string* string = root->if_string()) {
    const auto again = parse_json(json_escaped(*string), {.max_bytes = SIZE_MAX});
    if (!again.ok() || *again->if_string() != *string) __builtin_trap();
  }
  return 0;
}
