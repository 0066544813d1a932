// Fills a LaneFunctions for one lane type.
#pragma once

#include "base/lane_math-inl.h"
#include "device/cpu/simd-inl.h"
#include "device/testing/lane_functions.h"

namespace lockstep::device::contract {
namespace {

template <class L, class Function>
void over_row(const float* x, int64_t n, float* y, const Function& function) {
  int64_t i = 0;
  for (; i + L::kLanes <= n; i += L::kLanes) L::store(y + i, function(L::load(x + i)));
  const auto rest = static_cast<int>(n - i);
  if (rest > 0) L::store_n(y + i, function(L::load_n(x + i, rest)), rest);
}

#define LOCKSTEP_LANE_FUNCTION(name, expression)                           \
  {                                                                        \
    name, [](const float* in, int64_t n, float* out) {                     \
      over_row<L>(in, n, out, [](typename L::F x) { return expression; }); \
    }                                                                      \
  }

template <class L>
constexpr LaneFunctions make_lane_functions() {
  return {{
      LOCKSTEP_LANE_FUNCTION("exp", lane_exp<L>(x)),
      LOCKSTEP_LANE_FUNCTION("log", lane_log<L>(x)),
      LOCKSTEP_LANE_FUNCTION("sin", lane_sincos<L>(x).sin),
      LOCKSTEP_LANE_FUNCTION("cos", lane_sincos<L>(x).cos),
      LOCKSTEP_LANE_FUNCTION("tanh", lane_tanh<L>(x)),
      LOCKSTEP_LANE_FUNCTION("silu", lane_silu<L>(x)),
      LOCKSTEP_LANE_FUNCTION("gelu_tanh", lane_gelu_tanh<L>(x)),
      LOCKSTEP_LANE_FUNCTION("soft_cap", lane_soft_cap<L>(x, L::set(30.0f))),
  }};
}

#undef LOCKSTEP_LANE_FUNCTION

}  // namespace
}  // namespace lockstep::device::contract
