// The loop that every panel kernel shares: slices of K, tiles of rows, totals, bias, output.
//
// A kernel type gives:
//   kSliceBytes                 of a full slice of a packed panel
//   slice(job, weights, elements, activations, totals, first)
//                               adds one slice to totals [rows][32]; `first` stores instead
#pragma once

#include "device/cpu/linear_kernels.h"
#include "device/cpu/matrix_lanes-inl.h"

namespace lockstep::device::cpu {
namespace {

using Lanes = MatrixLanes;
using F = Lanes::F;
using I = Lanes::I;

// Outputs that a microkernel works on at once: two vectors, so that a row's chains overlap.
constexpr int kVectors = 2;
constexpr int kPassOutputs = kVectors * Lanes::kLanes;

// Most rows at once: as many accumulators as the registers hold beside the operands. Formats with
// two integer sums a block (kHalves) take fewer; so do bf16 pairs where they are widened.
#if defined(LOCKSTEP_AVX512)
constexpr int kFloatTileRows = 12;
constexpr int kBF16TileRows = 12;
constexpr int kInt8TileRows = 6;
constexpr int kHalvesTileRows = 4;
#elif defined(__AVX2__)
constexpr int kFloatTileRows = 6;
constexpr int kBF16TileRows = 4;
constexpr int kInt8TileRows = 3;
constexpr int kHalvesTileRows = 2;
#else
constexpr int kFloatTileRows = 4;
constexpr int kBF16TileRows = 4;
constexpr int kInt8TileRows = 4;
constexpr int kHalvesTileRows = 2;
#endif

// What a tile asks for ahead of its use. While a slice is multiplied, the bytes one slice further
// on are fetched, each tile a part of the lines of every step: so memory works during all tiles,
// not only during the first, and a single row streams a slice ahead of itself.
struct Prefetch {
  const std::byte* next;
  int lines;
  int step_bytes;

  // For tile `tile` of `tiles` over steps of `step_bytes` from `weights` on.
  Prefetch(const std::byte* weights, int slice_bytes, int steps, int tile, int tiles)
      : step_bytes(slice_bytes / steps) {
    const int all = (step_bytes + 63) / 64;
    const int share = (all + tiles - 1) / tiles;
    const int left = all - tile * share;
    lines = left < 0 ? 0 : left < share ? left : share;
    next = weights + slice_bytes + tile * share * 64;
  }

  void step() {
    for (int line = 0; line < lines; ++line) Lanes::prefetch(next + line * 64);
    next += step_bytes;
  }
};

// Calls Tile::run<rows> for a row count that is known at run time only.
template <class Tile, int kRows, class... Args>
void call_tile(int rows, Args... args) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return call_tile<Tile, kRows - 1>(rows, args...);
  }
  Tile::template run<kRows>(args...);
}

// A row's slice chain into its totals: the first slice is the total, later ones are added.
template <int kRows>
void add_to_totals(const F (&acc)[kRows][kVectors], int output, bool first, float* totals) {
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      float* total = totals + r * kPanelOutputs + output + v * Lanes::kLanes;
      Lanes::store(total, first ? acc[r][v] : Lanes::add(Lanes::load(total), acc[r][v]));
    }
  }
}

inline void write_outputs(const PanelJob& job, const float* totals) {
  const RowTile& last = job.tiles[job.tile_count - 1];
  const int rows = (last.first_row + last.rows) / job.terms;
  for (int r = 0; r < rows; ++r, totals += job.terms * kPanelOutputs) {
    for (int n = 0; n < job.outputs; n += Lanes::kLanes) {
      F x = Lanes::load(totals + n);
      if (job.terms == 2) x = Lanes::add(x, Lanes::load(totals + kPanelOutputs + n));
      if (job.bias != nullptr) x = Lanes::add(x, Lanes::load(job.bias + n));
      float* out = job.out + r * job.out_stride + n;
      const int left = job.outputs - n;
      left >= Lanes::kLanes ? Lanes::store(out, x) : Lanes::store_n(out, x, left);
    }
  }
}

template <class Kernel>
void multiply_panel(const PanelJob& job) {
  float* totals = reinterpret_cast<float*>(job.scratch);
  const std::byte* weights = job.panel;
  const std::byte* activations = job.activations;
  for (int64_t k = 0; k < job.inputs; k += kSliceElements) {
    const int64_t left = job.inputs - k;
    const int elements = left < kSliceElements ? static_cast<int>(left) : kSliceElements;
    Kernel::slice(job, weights, elements, activations, totals, k == 0);
    weights += Kernel::kSliceBytes;
    activations += job.activation_slice_bytes;
  }
  write_outputs(job, totals);
}

}  // namespace
}  // namespace lockstep::device::cpu
