// Where packed weights live: one after another in large chunks, so that they share huge pages. A
// small model's matrices are a few hundred kilobytes each; on memory of their own they would get
// small pages, which read a quarter slower (docs/performance.md).
//
// Ownership: a block keeps its chunk; the arena may die first. Thread rule: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.h"
#include "device/cpu/memory.h"

namespace lockstep::device::cpu {

class PackedArena {
 public:
  // `bytes` of zeroed memory, aligned to a cache line. resource_exhausted if it cannot be had.
  StatusOr<std::shared_ptr<std::byte>> take(uint64_t bytes);

 private:
  std::shared_ptr<Memory> chunk_;
  uint64_t next_ = 0;  // the first free byte of the chunk
};

}  // namespace lockstep::device::cpu
