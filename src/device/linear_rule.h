// Which arithmetic a matrix gets: a function of the profile and of the checkpoint's bytes alone,
// shared by all CPU-like devices so that they cannot disagree (docs/numerics.md, Profiles).
#pragma once

#include <cstdint>

#include "base/profile.h"
#include "base/tensor_view.h"

namespace lockstep::device {

enum class LinearRule : uint8_t {
  kF32,   // f32 activations x the weight widened or dequantised to f32
  kBF16,  // bf16 activations x bf16
  kInt8,  // int8 activations x blocks
};

// REQUIRES is_matrix_type(weight.dtype).
LinearRule linear_rule(Arithmetic arithmetic, const TensorView& weight);

// Whether every value of an F16 (or BF16, or F32) tensor survives the way to bf16 and back.
bool fits_bf16(const TensorView& weight);

}  // namespace lockstep::device
