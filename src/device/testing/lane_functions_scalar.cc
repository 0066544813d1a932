#include "device/testing/lane_functions-inl.h"

namespace lockstep::device::contract {
constinit const LaneFunctions kScalarFunctions = make_lane_functions<ScalarLane>();
}  // namespace lockstep::device::contract
