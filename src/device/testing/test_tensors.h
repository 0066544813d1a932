// Weights and activations made from integers, for the device contract.
#pragma once

#include <cstddef>
#include <vector>

#include "base/rng.h"
#include "base/tensor_view.h"

namespace lockstep::device::contract {

struct TestTensor {
  DType dtype;
  Shape shape;
  std::vector<std::byte> bytes;
  TensorView view() const { return {dtype, shape, bytes}; }
};

inline constexpr DType kBlockTypes[] = {
    DType::kQ4_0,   DType::kQ4_1,   DType::kQ5_0,  DType::kQ5_1, DType::kQ8_0,
    DType::kQ2_K,   DType::kQ3_K,   DType::kQ4_K,  DType::kQ5_K, DType::kQ6_K,
    DType::kIQ4_NL, DType::kIQ4_XS, DType::kMXFP4,
};

// Where a block keeps its f16 scales and minimums; every other bit of a block may be anything.
// Empty for MXFP4, which has an exponent of 8 bits in its first byte.
std::vector<int> f16_offsets(DType dtype);

// [outputs, inputs], or [outputs] with inputs 0, of a matrix type; all values finite and of
// magnitude near 1. F16 values do not fit bf16.
TestTensor random_tensor(DType dtype, int64_t outputs, int64_t inputs, CounterRng& rng);

// F32 [rows, width]. Rows before `hostile_from` are ordinary: full mantissas, each row at its own
// magnitude, some zeros. The others hold NaN, infinities, the largest float, denormals.
TestTensor activation_table(int rows, int width, int hostile_from, CounterRng& rng);

}  // namespace lockstep::device::contract
