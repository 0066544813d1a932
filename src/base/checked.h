// Arithmetic on sizes that come from outside: overflow is a value, never a wrap.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace lockstep {

// Empty when the true result does not fit in 64 bits.
inline std::optional<uint64_t> checked_add(uint64_t a, uint64_t b) {
  uint64_t r;
  if (__builtin_add_overflow(a, b, &r)) return std::nullopt;
  return r;
}

inline std::optional<uint64_t> checked_multiply(uint64_t a, uint64_t b) {
  uint64_t r;
  if (__builtin_mul_overflow(a, b, &r)) return std::nullopt;
  return r;
}

// Product of all factors; 1 for none. A zero factor gives zero even where a partial product of the
// others would not fit, whatever the order.
inline std::optional<uint64_t> checked_product(std::span<const uint64_t> factors) {
  uint64_t r = 1;
  bool overflow = false;
  for (uint64_t f : factors) {
    if (f == 0) return 0;
    overflow |= __builtin_mul_overflow(r, f, &r);
  }
  if (overflow) return std::nullopt;
  return r;
}

// Round up to a multiple; REQUIRES multiple > 0 and value + multiple - 1 representable.
constexpr int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}
constexpr int64_t ceil_div(int64_t value, int64_t divisor) {
  return (value + divisor - 1) / divisor;
}

}  // namespace lockstep
