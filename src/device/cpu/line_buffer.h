// Scratch memory in whole cache lines that only grows: growing it drops what it held.
#pragma once

#include <cstddef>
#include <vector>

namespace lockstep::device::cpu {

class LineBuffer {
 public:
  // At least that many bytes, 64-byte aligned.
  std::byte* reserve(size_t bytes) {
    const size_t lines = (bytes + sizeof(Line) - 1) / sizeof(Line);
    if (lines > lines_.size()) lines_ = std::vector<Line>(lines);
    return lines_.data()->bytes;
  }
  float* reserve_floats(ptrdiff_t floats) {
    return reinterpret_cast<float*>(reserve(static_cast<size_t>(floats) * sizeof(float)));
  }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> lines_;
};

}  // namespace lockstep::device::cpu
