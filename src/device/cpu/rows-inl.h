// The row-wise kernels, on lanes. Orders and formulas: docs/numerics.md.
#pragma once

#include "base/lane_math-inl.h"
#include "device/cpu/lanes16-inl.h"
#include "device/cpu/rows_kernels.h"

namespace lockstep::device::cpu {
namespace {

// Calls body(first element, lanes) over whole vectors of a row, then once over what is left.
template <class Body>
void for_vectors(int64_t width, const Body& body) {
  int64_t i = 0;
  for (; i + Lanes::kLanes <= width; i += Lanes::kLanes) body(i, Lanes::kLanes);
  if (i < width) body(i, static_cast<int>(width - i));
}
inline F load_lanes(const float* p, int lanes) {
  return lanes == Lanes::kLanes ? Lanes::load(p) : Lanes::load_n(p, lanes);
}
inline void store_lanes(float* p, F x, int lanes) {
  lanes == Lanes::kLanes ? Lanes::store(p, x) : Lanes::store_n(p, x, lanes);
}

inline void rms_norm_head(const float* in, const float* weight, int size, float eps, float* out) {
  Lanes16 squares;
  int i = 0;
  for (; i + 16 <= size; i += 16) {
    for (int part = 0; part < Lanes16::kParts; ++part) {
      const F x = Lanes::load(in + i + part * Lanes::kLanes);
      squares.part[part] = Lanes::fma(x, x, squares.part[part]);
    }
  }
  for (int part = 0; i < size; ++part, i += Lanes::kLanes) {
    const int left = size - i < Lanes::kLanes ? size - i : Lanes::kLanes;
    const F x = load_lanes(in + i, left);
    squares.part[part] = Lanes::fma(x, x, squares.part[part]);
  }
  const float mean = squares.tree() / static_cast<float>(size);
  const F r = Lanes::set(1.0f / ScalarLane::sqrt(mean + eps));
  for_vectors(size, [&](int64_t j, int lanes) {
    const F scaled = Lanes::mul(load_lanes(in + j, lanes), r);
    store_lanes(out + j, Lanes::mul(scaled, load_lanes(weight + j, lanes)), lanes);
  });
}

inline void rms_norm_row(const float* in, const float* weight, int size, int heads, float eps,
                         float* out) {
  for (int h = 0; h < heads; ++h) {
    rms_norm_head(in + h * size, weight, size, eps, out + h * size);
  }
}

inline void gated_silu_row(const float* gate, const float* up, int width, float* out) {
  for_vectors(width, [&](int64_t i, int lanes) {
    const F y = lane_silu<Lanes>(load_lanes(gate + i, lanes));
    store_lanes(out + i, Lanes::mul(y, load_lanes(up + i, lanes)), lanes);
  });
}

inline void gated_gelu_row(const float* gate, const float* up, int width, float* out) {
  for_vectors(width, [&](int64_t i, int lanes) {
    const F y = lane_gelu_tanh<Lanes>(load_lanes(gate + i, lanes));
    store_lanes(out + i, Lanes::mul(y, load_lanes(up + i, lanes)), lanes);
  });
}

inline void exp_row(float* x, int64_t width) {
  for_vectors(width, [&](int64_t i, int lanes) {
    store_lanes(x + i, lane_exp<Lanes>(load_lanes(x + i, lanes)), lanes);
  });
}

inline void add_row(float* x, const float* y, int width) {
  for_vectors(width, [&](int64_t i, int lanes) {
    store_lanes(x + i, Lanes::add(load_lanes(x + i, lanes), load_lanes(y + i, lanes)), lanes);
  });
}

inline void soft_cap_row(float cap, float* x, int width) {
  const F c = Lanes::set(cap);
  for_vectors(width, [&](int64_t i, int lanes) {
    store_lanes(x + i, lane_soft_cap<Lanes>(load_lanes(x + i, lanes), c), lanes);
  });
}

inline void rope_angles_row(const float* inverse_frequencies, int pairs, float position,
                            float magnitude, float* cosines, float* sines) {
  const F m = Lanes::set(magnitude);
  for_vectors(pairs, [&](int64_t i, int lanes) {
    const F angle = Lanes::mul(Lanes::set(position), load_lanes(inverse_frequencies + i, lanes));
    const auto [sine, cosine] = lane_sincos<Lanes>(angle);
    store_lanes(cosines + i, Lanes::mul(cosine, m), lanes);
    store_lanes(sines + i, Lanes::mul(sine, m), lanes);
  });
}

// Pairs (i, i + pairs).
inline void rotate_half(const float* cosines, const float* sines, int pairs, int head_size,
                        int heads, float* x) {
  for (int h = 0; h < heads; ++h, x += head_size) {
    for_vectors(pairs, [&](int64_t i, int lanes) {
      const F c = load_lanes(cosines + i, lanes);
      const F s = load_lanes(sines + i, lanes);
      const F a = load_lanes(x + i, lanes);
      const F b = load_lanes(x + pairs + i, lanes);
      store_lanes(x + i, Lanes::fma(a, c, Lanes::neg(Lanes::mul(b, s))), lanes);
      store_lanes(x + pairs + i, Lanes::fma(b, c, Lanes::mul(a, s)), lanes);
    });
  }
}

// Pairs (2i, 2i + 1): a plain loop, which the compiler turns into lanes.
inline void rotate_interleaved(const float* cosines, const float* sines, int pairs, int head_size,
                               int heads, float* x) {
  for (int h = 0; h < heads; ++h, x += head_size) {
    for (int i = 0; i < pairs; ++i) {
      const float a = x[2 * i];
      const float b = x[2 * i + 1];
      x[2 * i] = ScalarLane::fma(a, cosines[i], -(b * sines[i]));
      x[2 * i + 1] = ScalarLane::fma(b, cosines[i], a * sines[i]);
    }
  }
}

constexpr RowKernels make_row_kernels() {
  return {
      .rms_norm = rms_norm_row,
      .gated_activation = {gated_silu_row, gated_gelu_row},
      .exp = exp_row,
      .add = add_row,
      .soft_cap = soft_cap_row,
      .rope_angles = rope_angles_row,
      .rotate = {rotate_half, rotate_interleaved},
  };
}

}  // namespace
}  // namespace lockstep::device::cpu
