// Block-quantised rows, unpacked to codes and scales: the one place that knows ggml's block layouts
// (format facts: the ggml project's public description and the PyPI package `gguf`). Packing,
// embedding and the reference device all read blocks through here.
//
// Any bits make a block: a scale that is infinite or NaN gives such values, as in a plain tensor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/dtype.h"

namespace lockstep::device {

inline constexpr int kGroupSize = 32;  // k elements that share one int8 activation scale

// 32 consecutive elements of one row. Of every type, the value of element i in half h = i / 16 is
//   (d * sc[h]) * codes[i] - m * mn[h]
// each operation rounded; what a type does not have is neutral.
struct QuantGroup {
  std::array<int8_t, kGroupSize> codes;
  float d = 0.0f;
  float m = 0.0f;  // the minimums' scale
  std::array<int8_t, 2> sc = {1, 1};
  std::array<int8_t, 2> mn = {0, 0};  // -1 where m is the minimum itself and is added
};

// What a type's groups have, and with it the order of its products (docs/numerics.md, Linear).
struct GroupForm {
  bool halves;   // sc and mn of the two halves differ
  bool minimum;  // m and mn are used
};
// REQUIRES a quantised dtype.
GroupForm group_form(DType dtype);

// Group `group` of a row whose blocks start at `row`. REQUIRES a quantised dtype and a row that
// holds the group.
QuantGroup unpack_group(DType dtype, const std::byte* row, int64_t group);

// Values of a group (docs/numerics.md, Embedding): values[0..kGroupSize).
void group_values(const QuantGroup& group, float* values);

// Values of a whole row or tensor as f32.
// Takes plain float types too (widened exactly). REQUIRES values.size() elements behind `bytes`,
// whole blocks, dtype one of F32 F16 BF16 or quantised.
void dequantise(DType dtype, const std::byte* bytes, std::span<float> values);

// Whether dequantise() takes it: the types a matrix may have.
bool is_matrix_type(DType dtype);

}  // namespace lockstep::device
