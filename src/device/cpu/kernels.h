// The table of kernels that one instruction set provides. CpuDevice makes all calls through one
// table, chosen once at start; all tables give the same bits.
#pragma once

#include "device/cpu/linear_kernels.h"

namespace lockstep::device::cpu {

struct Kernels {
  const char* isa;  // "scalar", "avx2", "avx512", "avx512_vnni", "avx512_bf16"
  LinearKernels linear;
};

}  // namespace lockstep::device::cpu
