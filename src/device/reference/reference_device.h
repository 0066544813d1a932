// The executable definition of every op of device.h, by docs/numerics.md: scalar, row-major, one
// thread, no packing. It is written to be read; devices are compared with it by memcmp.
#pragma once

#include <memory>

#include "device/device.h"

namespace lockstep::device {

std::unique_ptr<Device> make_reference_device(Profile profile);

}  // namespace lockstep::device
