#include "device/cuda_device.h"

#include "device/cuda/cuda_info.h"

namespace lockstep::device {

std::string describe_cuda() {
  int count = 0;
  if (const cuda::CudaResult result = cuda::count_gpus(&count); !result.ok) {
    return fmt::format("no GPU ({})", result.error);
  }
  std::string out;
  for (int i = 0; i < count; ++i) {
    out += i == 0 ? "" : "; ";
    cuda::CudaGpu gpu = {};
    if (const cuda::CudaResult result = cuda::read_gpu(i, &gpu); !result.ok) {
      out += fmt::format("GPU {}: {}", i, result.error);
      continue;
    }
    out += fmt::format("{} (sm_{}{}, {:.1f} GiB)", gpu.name, gpu.compute_major, gpu.compute_minor,
                       static_cast<double>(gpu.memory_bytes) / (1 << 30));
  }
  return out.empty() ? "no GPU" : out;
}

StatusOr<std::unique_ptr<Device>> make_cuda_device(const Profile&) {
  return unimplemented("this version has no CUDA kernels; use --device cpu or reference");
}

}  // namespace lockstep::device
