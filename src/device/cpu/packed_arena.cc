#include "device/cpu/packed_arena.h"

#include <algorithm>

namespace lockstep::device::cpu {
namespace {

constexpr uint64_t kLine = 64;
constexpr uint64_t kHugePage = uint64_t{2} << 20;
constexpr uint64_t kChunk = uint64_t{64} << 20;  // what is never touched costs no memory

uint64_t round_up(uint64_t x, uint64_t unit) { return (x + unit - 1) / unit * unit; }

}  // namespace

StatusOr<std::shared_ptr<std::byte>> PackedArena::take(uint64_t bytes) {
  bytes = round_up(bytes, kLine);
  if (chunk_ == nullptr || bytes > chunk_->bytes() - next_) {
    LOCKSTEP_ASSIGN_OR_RETURN(Memory memory, Memory::map(std::max(bytes, kChunk) + kHugePage,
                                                         "packed weights", PageSize::kHuge));
    chunk_ = std::make_shared<Memory>(std::move(memory));
    const auto address = reinterpret_cast<uintptr_t>(chunk_->data());
    next_ = round_up(address, kHugePage) - address;
  }
  std::shared_ptr<std::byte> block(chunk_, chunk_->data() + next_);
  next_ += bytes;
  return block;
}

}  // namespace lockstep::device::cpu
