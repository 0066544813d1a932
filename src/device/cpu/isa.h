// The kernel tables of this program, and those that this CPU and its system can run.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "device/cpu/kernels.h"

namespace lockstep::device::cpu {

// From the plainest to the best; "scalar" is always among them. All give the same bits.
std::vector<const Kernels*> runnable_kernels();

// By name; empty: the best. invalid_argument lists what this CPU can run.
StatusOr<const Kernels*> find_kernels(std::string_view isa);

}  // namespace lockstep::device::cpu
