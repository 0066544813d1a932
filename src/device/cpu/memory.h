// Zeroed anonymous memory: pages are had from the system when they are first touched, so the parts
// of a large buffer that are never used cost nothing.
//
// Ownership: unmaps at the end; movable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace lockstep::device::cpu {

enum class PageSize : uint8_t { kNormal, kHuge };  // kHuge: a wish, for memory read as a stream

class Memory {
 public:
  // resource_exhausted, naming `what` and the size, if it cannot be had. Aligned to a page.
  static StatusOr<Memory> map(uint64_t bytes, std::string_view what, PageSize page_size);

  Memory(Memory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Memory& operator=(Memory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Memory();

  std::byte* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }

 private:
  Memory(std::byte* data, uint64_t bytes) : data_(data), bytes_(bytes) {}
  std::byte* data_;
  uint64_t bytes_;
};

}  // namespace lockstep::device::cpu
