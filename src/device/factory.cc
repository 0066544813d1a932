#include "device/factory.h"

#include "device/cpu/cpu_device.h"
#include "device/cpu/isa.h"
#include "device/cuda_device.h"
#include "device/reference/reference_device.h"

namespace lockstep::device {

std::vector<std::string> cpu_isas() {
  std::vector<std::string> out;
  for (const auto* kernels : cpu::runnable_kernels()) out.emplace_back(kernels->isa);
  return out;
}

StatusOr<std::unique_ptr<Device>> make_device(const DeviceOptions& options) {
  if (options.name == "cpu") {
    return make_cpu_device(
        {.profile = options.profile, .threads = options.threads, .isa = options.isa});
  }
  if (options.name == "reference") return make_reference_device(options.profile);
  if (options.name == "cuda") return make_cuda_device(options.profile);
  return invalid_argument("unknown device '{}'; allowed: cpu, reference, cuda", options.name);
}

}  // namespace lockstep::device
