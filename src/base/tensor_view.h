// A tensor's type, shape and bytes, borrowed from whoever mapped the file. The maker has checked
// that bytes.size() equals shape x dtype.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace lockstep {

// Outermost dimension first (row-major): a linear weight is [outputs, inputs].
using Shape = std::vector<int64_t>;

std::string shape_string(const Shape& shape);  // "[576, 1536]"

struct TensorView {
  DType dtype = DType::kF32;
  Shape shape;
  std::span<const std::byte> bytes;
};

}  // namespace lockstep
