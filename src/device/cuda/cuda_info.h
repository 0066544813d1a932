// What the CUDA runtime sees. PODs and plain functions: the seam between units compiled by nvcc and
// the rest of the program.
//
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep::device::cuda {

inline constexpr size_t kCudaTextBytes = 256;  // its terminator included

struct CudaGpu {
  char name[kCudaTextBytes];
  int compute_major;
  int compute_minor;
  uint64_t memory_bytes;
};

// How a call went; the text is the runtime's own.
struct CudaResult {
  bool ok;
  char error[kCudaTextBytes];
};

// Count of GPUs. Fails where there is no driver.
CudaResult count_gpus(int* count);

// REQUIRES 0 <= index < count.
CudaResult read_gpu(int index, CudaGpu* gpu);

}  // namespace lockstep::device::cuda
