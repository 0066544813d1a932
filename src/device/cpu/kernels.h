// The table of kernels that one instruction set provides. CpuDevice makes all calls through one
// table, chosen once at start; all tables give the same bits.
#pragma once

#include <cstdint>

#include "device/cpu/attention_kernels.h"
#include "device/cpu/linear_kernels.h"
#include "device/cpu/rows_kernels.h"

namespace lockstep::device::cpu {

struct Kernels {
  const char* isa;  // "scalar", "avx2", "avx512", "avx512_vnni", "avx512_bf16"
  LinearKernels linear;
  AttentionKernels attention;
  RowKernels rows;
};

extern const Kernels kKernels_scalar;
extern const Kernels kKernels_avx2;         // AVX2, FMA, F16C
extern const Kernels kKernels_avx512;       // AVX-512 F, BW, DQ, VL
extern const Kernels kKernels_avx512_vnni;  // and VNNI
extern const Kernels kKernels_avx512_bf16;  // and BF16

// Whether VDPBF16PS is two fused multiply-adds in that order, FTZ and DAZ set: asked of the silicon
// in under a millisecond. The bits of kKernels_avx512_bf16 hold where it is kOddFirst.
// REQUIRES AVX-512 with BF16.
enum class PairOrder : uint8_t { kOddFirst, kEvenFirst };
bool dpbf16_is_two_fmas(PairOrder order);

}  // namespace lockstep::device::cpu
