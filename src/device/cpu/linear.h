// Packed matrices of the CPU device and the loop that multiplies them: the seam between CpuDevice
// and the linear kernels.
//
// Thread rule: const after packing; run_linear is called by the engine thread and uses the pool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/profile.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "device/cpu/linear_kernels.h"
#include "device/cpu/packed_arena.h"
#include "device/device.h"

namespace lockstep::device::cpu {

// Packs (in parallel) into memory of the arena; the mapped tensors may be released afterwards.
// invalid_argument when shapes do not stack, unimplemented for a type that cannot be multiplied,
// resource_exhausted. REQUIRES bytes that match type and shape.
StatusOr<std::unique_ptr<LinearPlan>> pack_linear(std::span<const LinearWeight> stacked,
                                                  Arithmetic arithmetic, ThreadPool& pool,
                                                  PackedArena& arena);

// Scratch for packed activations, grown on demand and reused over a device's life.
class LinearScratch {
 public:
  LinearScratch();
  ~LinearScratch();

 private:
  friend void run_linear(const LinearKernels&, ThreadPool&, LinearScratch&, const LinearPlan&,
                         const float*, ptrdiff_t, float*, ptrdiff_t, int);
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

// out[r][n] = sum over k of in[r][k] w[n][k] (+ bias[n]), rows 0 <= r < rows; strides in floats.
// REQUIRES a plan made by pack_linear.
void run_linear(const LinearKernels& kernels, ThreadPool& pool, LinearScratch& scratch,
                const LinearPlan& plan, const float* in, ptrdiff_t in_stride, float* out,
                ptrdiff_t out_stride, int rows);

// out[k] = scale * value of row `output` of the plan, straight out of the packed copy.
void embed_row(const LinearPlan& plan, int32_t output, float scale, float* out);

}  // namespace lockstep::device::cpu
