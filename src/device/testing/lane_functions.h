// The functions of base/lane_math-inl.h over rows, as one instruction set runs them. PODs only: the
// units that fill the tables are compiled for their set.
#pragma once

#include <cstdint>

namespace lockstep::device::contract {

struct LaneFunction {
  const char* name;
  void (*run)(const float* x, int64_t n, float* y);  // any n
};
inline constexpr int kLaneFunctions = 8;

struct LaneFunctions {
  LaneFunction functions[kLaneFunctions];
};

extern const LaneFunctions kScalarFunctions;
extern const LaneFunctions kAvx2Functions;    // call where the CPU has AVX2 and FMA
extern const LaneFunctions kAvx512Functions;  // AVX-512 F, BW, DQ, VL

}  // namespace lockstep::device::contract
