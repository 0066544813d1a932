// The linear kernels that one instruction set provides. PODs and plain pointers only: the units that
// fill the tables are compiled for their set and may share nothing inline with the rest.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep::device::cpu {

struct LinearKernels {};

}  // namespace lockstep::device::cpu
