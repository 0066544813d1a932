// The LinearPlan of the CPU: one packed segment a stacked weight, one layout for all instruction
// sets. Panels are numbered through all segments; a segment's outputs are padded to whole panels.
//
// Thread rule: const once packed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/profile.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "device/cpu/linear_kernels.h"
#include "device/cpu/packed_arena.h"
#include "device/device.h"

namespace lockstep::device::cpu {

class PackedLinear final : public LinearPlan {
 public:
  struct Segment {
    Packing packing;
    int64_t first_output;  // in the plan's outputs
    int64_t outputs;
    int64_t first_panel;  // in the plan's panels
    int64_t panels;
    int64_t panel_bytes;
    const std::byte* data;    // panels * panel_bytes
    std::vector<float> bias;  // panels * 32, or empty
  };

  // Errors: see pack_linear (linear.h).
  static StatusOr<std::unique_ptr<PackedLinear>> pack(std::span<const LinearWeight> stacked,
                                                      Arithmetic arithmetic, ThreadPool& pool,
                                                      PackedArena& arena);

  std::span<const Segment> segments() const { return segments_; }
  int64_t panels() const { return segments_.back().first_panel + segments_.back().panels; }

 private:
  PackedLinear(int64_t outputs, int64_t inputs, int64_t bytes, std::shared_ptr<std::byte> data,
               std::vector<Segment> segments);

  std::shared_ptr<std::byte> data_;
  std::vector<Segment> segments_;
};

}  // namespace lockstep::device::cpu
