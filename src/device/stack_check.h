// What `Device::prepare` refuses: one rule for all devices.
#pragma once

#include <span>

#include "device/device.h"

namespace lockstep::device {

// unimplemented (a type that no profile multiplies, by name) or invalid_argument: no weights, not a
// matrix, a row that is not whole blocks, weights of unequal inputs, a bias of the wrong shape.
Status check_stack(std::span<const LinearWeight> stacked);

// Sum of the weights' outputs. REQUIRES check_stack.
int64_t stacked_outputs(std::span<const LinearWeight> stacked);

}  // namespace lockstep::device
