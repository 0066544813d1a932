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

// [outputs, inputs], or [outputs] with inputs 0, of a matrix type; all values finite and of
// magnitude near 1. F16 values do not fit bf16.
TestTensor random_tensor(DType dtype, int64_t outputs, int64_t inputs, CounterRng& rng);

// F32 [rows, width]. Rows before `hostile_from` are ordinary: full mantissas, each row at its own
// magnitude, some zeros. The others hold NaN, infinities, the largest float, denormals.
TestTensor activation_table(int rows, int width, int hostile_from, CounterRng& rng);

}  // namespace lockstep::device::contract
