// Test helper: a safetensors file's bytes from its header's text, right or wrong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace lockstep::formats {

inline std::string safetensors_bytes(std::string_view header, std::string_view data) {
  ByteWriter writer;
  writer.sized_text(header);
  writer.text(data);
  return writer.take();
}

// The same with a length that lies.
inline std::string safetensors_bytes(uint64_t claimed_length, std::string_view header,
                                     std::string_view data) {
  ByteWriter writer;
  writer.number(claimed_length);
  writer.text(header);
  writer.text(data);
  return writer.take();
}

}  // namespace lockstep::formats
