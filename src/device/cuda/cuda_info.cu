#include <cuda_runtime.h>

#include <cstdio>

#include "device/cuda/cuda_info.h"

namespace lockstep::device::cuda {
namespace {

CudaResult result_of(cudaError_t error) {
  CudaResult result = {};
  result.ok = error == cudaSuccess;
  if (!result.ok) std::snprintf(result.error, kCudaTextBytes, "%s", cudaGetErrorString(error));
  return result;
}

}  // namespace

CudaResult count_gpus(int* count) { return result_of(cudaGetDeviceCount(count)); }

CudaResult read_gpu(int index, CudaGpu* gpu) {
  cudaDeviceProp properties;
  const CudaResult result = result_of(cudaGetDeviceProperties(&properties, index));
  if (!result.ok) return result;
  std::snprintf(gpu->name, kCudaTextBytes, "%s", properties.name);
  gpu->compute_major = properties.major;
  gpu->compute_minor = properties.minor;
  gpu->memory_bytes = properties.totalGlobalMem;
  return result;
}

}  // namespace lockstep::device::cuda
