#include "device/testing/lane_functions-inl.h"

namespace lockstep::device::contract {
constinit const LaneFunctions kAvx512Functions = make_lane_functions<Avx512Lane>();
}  // namespace lockstep::device::contract
