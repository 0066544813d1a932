// Matrices of plain types: f32 activations times f32, f16 or bf16 weights, and bf16 times bf16.
// Orders: docs/numerics.md, Linear.
#pragma once

#include "device/cpu/linear_panel-inl.h"

namespace lockstep::device::cpu {
namespace {

// ---- Activations. f32: unit float[1] a k. bf16: unit of a pair of k; u32 where the hardware
// multiplies pairs, else both elements widened to f32 again.

inline void pack_f32(const float* in, ptrdiff_t in_stride, int rows, int elements, std::byte* out) {
  float* to = reinterpret_cast<float*>(out);
  if (rows == 1) {
    __builtin_memcpy(to, in, static_cast<size_t>(elements) * sizeof(float));
    return;
  }
  for (int r = 0; r < rows; ++r) {
    for (int k = 0; k < elements; ++k) to[k * rows + r] = in[r * in_stride + k];
  }
}

// bf16_from_f32 of base/float16.h on lanes, the result widened to f32 (its low half zero).
inline I round_to_bf16(F x) {
  const I u = Lanes::bits(x);
  const I high = Lanes::iset(static_cast<int32_t>(0xffff0000u));
  const I exponent = Lanes::iand(u, Lanes::iset(0x7f800000));
  const I odd = Lanes::iand(Lanes::template shr<16>(u), Lanes::iset(1));
  const I rounded = Lanes::iand(Lanes::iadd(u, Lanes::iadd(odd, Lanes::iset(0x7fff))), high);
  const I zero = Lanes::iand(u, Lanes::iset(INT32_MIN));
  const I nan = Lanes::iand(Lanes::ior(u, Lanes::iset(0x00400000)), high);
  F result = Lanes::select(Lanes::is_nan(x), Lanes::from_bits(nan), Lanes::from_bits(rounded));
  result = Lanes::select(Lanes::ieq(exponent, Lanes::iset(0)), Lanes::from_bits(zero), result);
  return Lanes::bits(result);
}

// One row of a slice rounded: `out` has room for whole vectors past `elements`, which become +0.
inline void round_row(const float* in, int elements, float* out) {
  for (int k = 0; k < elements; k += Lanes::kLanes) {
    const int left = elements - k;
    const F x = left < Lanes::kLanes ? Lanes::load_n(in + k, left) : Lanes::load(in + k);
    Lanes::store_int(out + k, round_to_bf16(x));
  }
}

#if defined(__AVX512BF16__)
using Bf16Unit = uint32_t;
constexpr int kBf16UnitBytes = 4;
#else
struct Bf16Unit {
  float even, odd;
};
constexpr int kBf16UnitBytes = 8;
#endif

inline void pack_bf16(const float* in, ptrdiff_t in_stride, int rows, int elements,
                      std::byte* out) {
  alignas(64) float rounded[kSliceElements + 1];
  Bf16Unit* to = reinterpret_cast<Bf16Unit*>(out);
  const int pairs = (elements + 1) / 2;
  for (int r = 0; r < rows; ++r) {
    rounded[elements] = 0.0f;  // an odd slice's partner
    round_row(in + r * in_stride, elements, rounded);
    for (int p = 0; p < pairs; ++p) {
#if defined(__AVX512BF16__)
      const uint32_t even = __builtin_bit_cast(uint32_t, rounded[2 * p]);
      const uint32_t odd = __builtin_bit_cast(uint32_t, rounded[2 * p + 1]);
      to[p * rows + r] = (even >> 16) | odd;
#else
      to[p * rows + r] = {rounded[2 * p], rounded[2 * p + 1]};
#endif
    }
  }
}

// ---- Microkernels. A step type gives what is multiplied at once: kElements of K, in kUnits
// activation units and kBytes of a panel, and
//   apply(acc, weights, output, x)   adds them to all accumulators; x[row], next unit at x[kRows]
//   apply_last(...)                  the same for the odd end of K

template <class Load, int kBytesAStep>
struct StepOfOne {
  using Unit = float;
  static constexpr int kTileRows = kFloatTileRows;
  static constexpr int kElements = 1;
  static constexpr int kUnits = 1;
  static constexpr int kBytes = kBytesAStep;

  template <int kRows>
  static void apply(F (&acc)[kRows][kVectors], const std::byte* weights, int output,
                    const Unit* x) {
    F w[kVectors];
    for (int v = 0; v < kVectors; ++v) w[v] = Load::load(weights, output + v * Lanes::kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const F a = Lanes::set(x[r]);
      for (int v = 0; v < kVectors; ++v) acc[r][v] = Lanes::fma(a, w[v], acc[r][v]);
    }
  }
  template <int kRows>
  static void apply_last(F (&)[kRows][kVectors], const std::byte*, int, const Unit*) {}
};

struct LoadF32 {
  static F load(const std::byte* weights, int output) {
    return Lanes::load(reinterpret_cast<const float*>(weights) + output);
  }
};

struct LoadF16 {
  static F load(const std::byte* weights, int output) {
    return Lanes::load_f16(reinterpret_cast<const uint16_t*>(weights) + output);
  }
};

using StepF32 = StepOfOne<LoadF32, kPanelOutputs * 4>;
using StepF16 = StepOfOne<LoadF16, kPanelOutputs * 2>;

// A pair of bf16 weights widened.
struct WidePair {
  F even[kVectors];
  F odd[kVectors];
};

inline WidePair load_pair(const std::byte* weights, int output) {
  WidePair w;
  for (int v = 0; v < kVectors; ++v) {
    const I pair = Lanes::load_int(weights + 4 * (output + v * Lanes::kLanes));
    w.even[v] = Lanes::from_bits(Lanes::template shl<16>(pair));
    w.odd[v] = Lanes::from_bits(Lanes::iand(pair, Lanes::iset(static_cast<int32_t>(0xffff0000u))));
  }
  return w;
}

// f32 activations: k ascending, and no term for the missing partner of an odd K.
struct StepBF16Wide {
  using Unit = float;
  static constexpr int kTileRows = kFloatTileRows;
  static constexpr int kElements = 2;
  static constexpr int kUnits = 2;
  static constexpr int kBytes = kPanelOutputs * 4;

  template <int kRows>
  static void apply(F (&acc)[kRows][kVectors], const std::byte* weights, int output,
                    const Unit* x) {
    const WidePair w = load_pair(weights, output);
    multiply<kRows>(acc, w.even, x);
    multiply<kRows>(acc, w.odd, x + kRows);
  }
  template <int kRows>
  static void apply_last(F (&acc)[kRows][kVectors], const std::byte* weights, int output,
                         const Unit* x) {
    multiply<kRows>(acc, load_pair(weights, output).even, x);
  }

 private:
  template <int kRows>
  static void multiply(F (&acc)[kRows][kVectors], const F (&w)[kVectors], const Unit* x) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const F a = Lanes::set(x[r]);
      for (int v = 0; v < kVectors; ++v) acc[r][v] = Lanes::fma(a, w[v], acc[r][v]);
    }
  }
};

// bf16 activations: pairs, odd element first; an odd K's last pair is whole, with +0 x +0.
struct StepBF16 {
  using Unit = Bf16Unit;
  static constexpr int kTileRows = kBF16TileRows;
  static constexpr int kElements = 2;
  static constexpr int kUnits = 1;
  static constexpr int kBytes = kPanelOutputs * 4;

  template <int kRows>
  static void apply(F (&acc)[kRows][kVectors], const std::byte* weights, int output,
                    const Unit* x) {
#if defined(__AVX512BF16__)
    __m512bh w[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      w[v] =
          reinterpret_cast<__m512bh>(Lanes::load_int(weights + 4 * (output + v * Lanes::kLanes)));
    }
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const __m512bh a = reinterpret_cast<__m512bh>(Lanes::iset(static_cast<int32_t>(x[r])));
      for (int v = 0; v < kVectors; ++v) acc[r][v] = _mm512_dpbf16_ps(acc[r][v], a, w[v]);
    }
#else
    const WidePair w = load_pair(weights, output);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const F odd = Lanes::set(x[r].odd);
      const F even = Lanes::set(x[r].even);
      for (int v = 0; v < kVectors; ++v) {
        acc[r][v] = Lanes::fma(even, w.even[v], Lanes::fma(odd, w.odd[v], acc[r][v]));
      }
    }
#endif
  }
  template <int kRows>
  static void apply_last(F (&acc)[kRows][kVectors], const std::byte* weights, int output,
                         const Unit* x) {
    apply<kRows>(acc, weights, output, x);
  }
};

template <class Step>
struct FloatTile {
  template <int kRows>
  [[gnu::noinline]] static void run(const std::byte* weights, int elements,
                                    const std::byte* activations, float* totals, bool first,
                                    Prefetch prefetch) {
    for (int output = 0; output < kPanelOutputs; output += kPassOutputs) {
      F acc[kRows][kVectors];
      for (int r = 0; r < kRows; ++r) {
        for (int v = 0; v < kVectors; ++v) acc[r][v] = Lanes::zero();
      }
      const std::byte* w = weights;
      const auto* x = reinterpret_cast<const typename Step::Unit*>(activations);
      for (int k = 0; k + Step::kElements <= elements; k += Step::kElements) {
        if (output == 0) prefetch.step();
        Step::template apply<kRows>(acc, w, output, x);
        w += Step::kBytes;
        x += Step::kUnits * kRows;
      }
      if (elements % Step::kElements != 0) Step::template apply_last<kRows>(acc, w, output, x);
      add_to_totals<kRows>(acc, output, first, totals);
    }
  }
};

template <class Step>
struct FloatKernel {
  static constexpr int kSliceBytes = kSliceElements / Step::kElements * Step::kBytes;

  static void slice(const PanelJob& job, const std::byte* weights, int elements,
                    const std::byte* activations, float* totals, bool first) {
    const int units = (elements + kUnitElements - 1) / kUnitElements;
    for (int t = 0; t < job.tile_count; ++t) {
      const RowTile tile = job.tiles[t];
      const auto unit_bytes = static_cast<ptrdiff_t>(sizeof(typename Step::Unit));
      call_tile<FloatTile<Step>, Step::kTileRows>(
          tile.rows, weights, elements, activations + tile.first_row * units * unit_bytes,
          totals + tile.first_row * kPanelOutputs, first,
          Prefetch(weights, kSliceBytes, kSliceElements / Step::kElements, t, job.tile_count));
    }
  }

 private:
  static constexpr int kUnitElements = Step::kElements / Step::kUnits;
};

}  // namespace
}  // namespace lockstep::device::cpu
