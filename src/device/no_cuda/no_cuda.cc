#include "device/cuda_device.h"

namespace lockstep::device {

std::string describe_cuda() { return "not in this build"; }

StatusOr<std::unique_ptr<Device>> make_cuda_device(const Profile&) {
  return unimplemented(
      "this build has no CUDA device; build with the cuda preset, or use --device cpu or "
      "reference");
}

}  // namespace lockstep::device
