// bf16 and f16 conversions, scalar and exact to the bit with the hardware's under FTZ and DAZ.
#pragma once

#include <bit>
#include <cstdint>

namespace lockstep {

inline float f32_from_bf16(uint16_t b) { return std::bit_cast<float>(uint32_t{b} << 16); }

// Round to nearest even; denormals to signed zero; NaN made quiet. Equals VCVTNEPS2BF16 on all
// 2^32 inputs.
inline uint16_t bf16_from_f32(float x) {
  uint32_t u = std::bit_cast<uint32_t>(x);
  uint32_t exponent = u & 0x7f800000u;
  if (exponent == 0) return static_cast<uint16_t>((u >> 16) & 0x8000u);
  if (exponent == 0x7f800000u && (u & 0x007fffffu) != 0) {
    return static_cast<uint16_t>((u >> 16) | 0x0040u);
  }
  u += 0x7fffu + ((u >> 16) & 1u);
  return static_cast<uint16_t>(u >> 16);
}

// Exact, f16 denormals included (they are normal in f32). Equals VCVTPH2PS.
inline float f32_from_f16(uint16_t h) {
  uint32_t sign = uint32_t{h & 0x8000u} << 16;
  uint32_t exponent = (h >> 10) & 0x1fu;
  uint32_t mantissa = h & 0x3ffu;
  if (exponent == 0x1f) {  // infinity; NaN made quiet
    uint32_t quiet = mantissa != 0 ? 0x00400000u : 0u;
    return std::bit_cast<float>(sign | 0x7f800000u | quiet | (mantissa << 13));
  }
  if (exponent == 0) {
    if (mantissa == 0) return std::bit_cast<float>(sign);
    int shift = std::countl_zero(mantissa) - 21;  // bring the leading one to bit 10
    mantissa = (mantissa << shift) & 0x3ffu;
    exponent = static_cast<uint32_t>(1 - shift);
  }
  return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
}

// Round to nearest even, denormal results kept. Equals VCVTPS2PH; f32 denormal
// inputs are far below f16's range and give signed zero either way.
uint16_t f16_from_f32(float x);

}  // namespace lockstep
