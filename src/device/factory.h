// Devices by the command line's names.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/profile.h"
#include "base/status.h"
#include "device/device.h"

namespace lockstep::device {

struct DeviceOptions {
  std::string name = "cpu";  // "cpu", "reference" or "cuda"
  Profile profile;
  int threads = 1;       // of the CPU device
  std::string isa = {};  // of the CPU device; empty: the best that this CPU has
};

// The instruction sets that the CPU device can use here, the plainest first.
std::vector<std::string> cpu_isas();

// invalid_argument for another name, or options that the device refuses; unimplemented for a device
// that this build or version does not have.
StatusOr<std::unique_ptr<Device>> make_device(const DeviceOptions& options);

}  // namespace lockstep::device
