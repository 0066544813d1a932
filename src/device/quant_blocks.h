// Block-quantised rows, unpacked to codes and scales: the one place that knows ggml's block layouts
// (format facts: the ggml project's public description). Packing, embedding and the reference
// device all read blocks through here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/dtype.h"

namespace lockstep::device {

inline constexpr int kGroupSize = 32;  // k elements that share one int8 activation scale

// 32 consecutive elements of one row. Value of element i:
//   Q8_0, Q4_0   d * code
//   Q4_1         d * code + m
//   Q4_K         (d * sc[0]) * code - (m * mn)
//   Q6_K         (d * sc[i / 16]) * code
struct QuantGroup {
  std::array<int8_t, kGroupSize>
      codes;       // Q4_0 in [-8, 7], Q6_K in [-32, 31], Q4_1 and Q4_K in [0, 15]
  uint16_t d = 0;  // f16 bits
  uint16_t m = 0;  // f16 bits: Q4_1's minimum, Q4_K's dmin
  std::array<int8_t, 2> sc = {1, 1};  // Q4_K (6 bits, both equal), Q6_K
  uint8_t mn = 0;                     // Q4_K (6 bits)
};

// Group `group` of a row whose blocks start at `row`. REQUIRES a quantised dtype and a row that
// holds the group.
QuantGroup unpack_group(DType dtype, const std::byte* row, int64_t group);

// Value of element i of a group, each operation rounded (docs/numerics.md, Embedding).
float group_value(DType dtype, const QuantGroup& group, int i);

// Values of a whole row or tensor as f32.
// Takes plain float types too (widened exactly). REQUIRES values.size() elements behind `bytes`,
// whole blocks, dtype one of F32 F16 BF16 or quantised.
void dequantise(DType dtype, const std::byte* bytes, std::span<float> values);

// Whether dequantise() takes it: the types a matrix may have.
bool is_matrix_type(DType dtype);

}  // namespace lockstep::device
