#include "device/linear_rule.h"

#include <cstring>

#include "base/float16.h"

namespace lockstep::device {
namespace {

// bf16 has f32's exponent range, so a value fits when its low 16 bits of f32 are zero. Compared on
// bits: NaN payloads count, and the caller's floating-point mode does not.
bool low_half_is_zero(float x) { return (std::bit_cast<uint32_t>(x) & 0xffffu) == 0; }

}  // namespace

bool fits_bf16(const TensorView& weight) {
  const std::byte* p = weight.bytes.data();
  switch (weight.dtype) {
    case DType::kBF16:
      return true;
    case DType::kF16:
      for (size_t i = 0; i < weight.bytes.size(); i += 2) {
        uint16_t half;
        std::memcpy(&half, p + i, 2);
        if (!low_half_is_zero(f32_from_f16(half))) return false;
      }
      return true;
    case DType::kF32:
      for (size_t i = 0; i < weight.bytes.size(); i += 4) {
        float x;
        std::memcpy(&x, p + i, 4);
        if (!low_half_is_zero(x)) return false;
      }
      return true;
    default:
      return false;
  }
}

LinearRule linear_rule(Arithmetic arithmetic, const TensorView& weight) {
  switch (arithmetic) {
    case Arithmetic::kF32:
      return LinearRule::kF32;
    case Arithmetic::kBF16:
      return LinearRule::kBF16;
    case Arithmetic::kInt8:
      break;
  }
  if (dtype_info(weight.dtype).quantised()) return LinearRule::kInt8;
  const bool half = weight.dtype == DType::kBF16 || weight.dtype == DType::kF16;
  return half && fits_bf16(weight) ? LinearRule::kBF16 : LinearRule::kF32;
}

}  // namespace lockstep::device
