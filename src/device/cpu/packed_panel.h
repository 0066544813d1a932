// Writing and reading the layout of packed_layout.h, 32 rows of a weight at a time. Generic code,
// used at load time and by the embedding; the kernels read the same structs on their own.
//
// Thread rule: free functions over the caller's memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/profile.h"
#include "base/tensor_view.h"
#include "device/cpu/linear_kernels.h"

namespace lockstep::device::cpu {

// By the rule of device/linear_rule.h. REQUIRES is_matrix_type(weight.dtype).
Packing packing_for(Arithmetic arithmetic, const TensorView& weight);

ActivationKind activation_kind(Packing packing);

// Bytes of one panel of K = `inputs`: a multiple of 64.
int64_t panel_bytes(Packing packing, int64_t inputs);

// Packs rows [first, first + 32) of a [outputs, inputs] weight, as many as exist, into a zeroed
// panel. Values that the packing cannot hold are rounded to it (bf16 only).
void pack_panel(Packing packing, const TensorView& weight, int64_t first, std::byte* panel);

// Values of one output of a panel as f32 (docs/numerics.md, Embedding): values[0..inputs).
void read_panel_row(Packing packing, const std::byte* panel, int output, int64_t inputs,
                    float* values);

}  // namespace lockstep::device::cpu
