#include "device/cpu/packed_memory.h"

#include <sys/mman.h>

#include <utility>

namespace lockstep::device::cpu {

StatusOr<PackedMemory> PackedMemory::allocate(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return resource_exhausted("no memory for {} bytes of packed weights", bytes);
  }
  // Reading weights from huge pages is 5 to 12 % faster (docs/performance.md). Only a wish: a
  // system that has none answers with an error and small pages.
  madvise(memory, bytes, MADV_HUGEPAGE);
  return PackedMemory(static_cast<std::byte*>(memory), bytes);
}

PackedMemory::~PackedMemory() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

PackedMemory::PackedMemory(PackedMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

PackedMemory& PackedMemory::operator=(PackedMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace lockstep::device::cpu
