#include "base/float16.h"

namespace lockstep {

uint16_t f16_from_f32(float x) {
  const uint32_t u = std::bit_cast<uint32_t>(x);
  const uint32_t sign = (u >> 16) & 0x8000u;
  const uint32_t magnitude = u & 0x7fffffffu;
  if (magnitude >= 0x7f800000u) {  // infinity or NaN
    const uint32_t nan = magnitude > 0x7f800000u ? 0x0200u | ((magnitude >> 13) & 0x3ffu) : 0u;
    return static_cast<uint16_t>(sign | 0x7c00u | nan);
  }
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // rounds past 65504
  if (magnitude < 0x33000000u) return static_cast<uint16_t>(sign);  // below half of 2^-24
  const uint32_t exponent = magnitude >> 23;
  uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
  // Bits to drop: 13 for normal results, more as the result goes denormal (exponent 112 and below).
  const uint32_t drop = exponent >= 113 ? 13u : 13u + (113u - exponent);
  const uint32_t half = 1u << (drop - 1);
  const uint32_t low = mantissa & ((1u << drop) - 1u);
  uint32_t q = mantissa >> drop;
  if (low > half || (low == half && (q & 1u) != 0)) ++q;
  // q holds the implicit one for normal results; adding lets a carry move the exponent up.
  const uint32_t base = exponent >= 113 ? (exponent - 113u) << 10 : 0u;
  return static_cast<uint16_t>(sign | (base + q));
}

}  // namespace lockstep
