// The CUDA device, or why there is none: implemented by cuda/ or by no_cuda/, whichever the build
// has (LOCKSTEP_CUDA), so that callers need no #ifdef.
#pragma once

#include <memory>
#include <string>

#include "base/profile.h"
#include "base/status.h"
#include "device/device.h"

namespace lockstep::device {

// One line for `--version`: the GPUs that the runtime sees, or why it sees none.
std::string describe_cuda();

StatusOr<std::unique_ptr<Device>> make_cuda_device(const Profile& profile);

}  // namespace lockstep::device
