#include "device/testing/lane_functions-inl.h"

namespace lockstep::device::contract {
constinit const LaneFunctions kAvx2Functions = make_lane_functions<Avx2Lane>();
}  // namespace lockstep::device::contract
