// The table of kernels that one instruction set provides. CpuDevice fills its calls from one table,
// chosen once at start; all tables give the same bits.
//
// PODs and plain pointers only: the units that define the tables are compiled for their set and may
// share nothing inline with the rest of the program.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep::device::cpu {

// How a packed weight multiplies. Panels of 32 outputs, contiguous in K (docs/numerics.md).
enum class PackedType : uint8_t {
  kF32,       // f32 activations x f32: [k][32] f32
  kF16,       // f32 activations x f16 widened: [k][32] u16
  kBF16Wide,  // f32 activations x bf16 widened: [k][32] u16
  kBF16,      // bf16 activations x bf16: [k/2][32] pairs u32, low half = even k
  kQ8_0,
  kQ4_0,
  kQ4_1,
  kQ4_K,
  kQ6_K,  // int8 activations per 32
};

// Activations of `rows` rows in the form a PackedType asks for; written by pack_activations.
// The scratch behind it is sized by activation_bytes().
struct PackedRows;

struct Kernels {
  const char* isa;  // "scalar", "avx2", "avx512", "avx512_vnni", "avx512_bf16"
  // Members are added by linear (linear-inl.h), attention (attention-inl.h) and rows (rows-inl.h).
};

}  // namespace lockstep::device::cpu
