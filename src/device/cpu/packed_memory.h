// Private zeroed memory for packed weights, on huge pages where the system grants them.
//
// Ownership: move-only; unmapped at the end of life. Thread rule: none of its own.
#pragma once

#include <cstddef>

#include "base/status.h"

namespace lockstep::device::cpu {

class PackedMemory {
 public:
  // Pages are touched by whoever writes them first, so packing in parallel also faults in parallel.
  // resource_exhausted when the system refuses. REQUIRES bytes > 0.
  static StatusOr<PackedMemory> allocate(size_t bytes);

  PackedMemory() = default;
  ~PackedMemory();
  PackedMemory(PackedMemory&& other) noexcept;
  PackedMemory& operator=(PackedMemory&& other) noexcept;

  std::byte* data() const { return data_; }  // page-aligned
  size_t bytes() const { return bytes_; }

 private:
  PackedMemory(std::byte* data, size_t bytes) : data_(data), bytes_(bytes) {}

  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace lockstep::device::cpu
