// Random numbers without state: a value is a function of a seed and a counter.
#pragma once

#include <cstdint>

namespace lockstep {

// The increment of splitmix64: 2^64 / golden ratio, odd.
inline constexpr uint64_t kGoldenGamma = 0x9e3779b97f4a7c15;

// The finaliser of splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
// generators", 2014; constants of Stafford's variant 13). A bijection of 64 bits.
constexpr uint64_t mix64(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// splitmix64 as a sequence, for tests and synthetic weights. Integers only: the same values on
// every machine and with every library.
//
// Thread rule: one thread at a time; copies continue on their own.
class CounterRng {
 public:
  explicit constexpr CounterRng(uint64_t seed) : counter_(mix64(seed)) {}

  constexpr uint64_t next() { return mix64(counter_ += kGoldenGamma); }
  constexpr uint32_t next_u32() { return static_cast<uint32_t>(next() >> 32); }
  // [0, bound), off uniform by at most bound / 2^32. REQUIRES bound > 0.
  constexpr uint32_t below(uint32_t bound) {
    return static_cast<uint32_t>((uint64_t{next_u32()} * bound) >> 32);
  }
  // [low, high]. REQUIRES low <= high, high - low < 2^32 - 1.
  constexpr int64_t between(int64_t low, int64_t high) {
    return low + below(static_cast<uint32_t>(high - low + 1));
  }

 private:
  uint64_t counter_;
};

}  // namespace lockstep
