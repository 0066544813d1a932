#include "device/cpu/memory.h"

#include <sys/mman.h>

namespace lockstep::device::cpu {

StatusOr<Memory> Memory::map(uint64_t bytes, std::string_view what, PageSize page_size) {
  if (bytes == 0) return Memory(nullptr, 0);
  void* p = bytes > SIZE_MAX
                ? MAP_FAILED
                : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) {
    return resource_exhausted("{}: {} bytes ({:.1f} GiB) of memory cannot be had", what, bytes,
                              static_cast<double>(bytes) / (1 << 30));
  }
  if (page_size == PageSize::kHuge) madvise(p, bytes, MADV_HUGEPAGE);
  return Memory(static_cast<std::byte*>(p), bytes);
}

Memory::~Memory() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

}  // namespace lockstep::device::cpu
