// The linear kernels that one instruction set provides. PODs and plain pointers only: the units
// that fill the tables are compiled for their set and may share nothing inline with the rest.
//
// A matrix is cut into panels of 32 outputs (packed_layout.h), its K into slices of 512, the rows
// of a call into tiles. One call of a panel kernel multiplies one panel with all rows of a call; an
// output is one chain in the order of docs/numerics.md whatever the tiles are.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep::device::cpu {

inline constexpr int kPanelOutputs = 32;
inline constexpr int kSliceElements = 512;
inline constexpr int kMaxPanelRows = 512;  // packed rows of one call: what the scratch can hold

// How a matrix is held, and with it which kernel multiplies it.
enum class Packing : uint8_t {
  kF32,
  kF16,
  kBF16Wide,  // bf16 held, multiplied as f32
  kBF16,      // bf16 held, bf16 activations
  kQ8_0,      // and Q5_0, IQ4_NL
  kQ4_0,
  kQ4_1,
  kQ4_K,
  kQ6_K,  // and Q3_K
  kQ2_K,
  kBytes,     // IQ4_XS, MXFP4
  kFiveBits,  // Q5_1, Q5_K
};
inline constexpr int kPackings = 12;

// What the rows are turned into before they meet a matrix.
enum class ActivationKind : uint8_t { kF32, kBF16, kInt8 };
inline constexpr int kActivationKinds = 3;

// int8 activations are two numbers an element, the second being what the first left over: a row is
// packed as two rows, whose totals are added at the end.
inline constexpr int kInt8Terms = 2;

// Packed activations: [slice][tile][unit][row of tile] units. A slice's last unit may be partial.
struct ActivationFormat {
  int unit_elements;  // along K; divides kSliceElements
  int unit_bytes;
  int tile_rows;  // the most packed rows of a tile; a multiple of terms
  int terms;      // packed rows a row
  // Packs one slice of one tile: rows of `elements` floats, `in_stride` floats apart, to `rows`
  // packed rows. REQUIRES rows a multiple of terms, 1 <= rows <= tile_rows, 1 <= elements <=
  // kSliceElements, out 16-byte aligned.
  void (*pack)(const float* in, ptrdiff_t in_stride, int rows, int elements, std::byte* out);
};

struct RowTile {
  int first_row;
  int rows;
};

// 32 f32 totals a row, and one slice of a panel unpacked (at most 1,408 bytes a block of 32).
inline constexpr size_t kPanelTotalsBytes = size_t{kMaxPanelRows} * kPanelOutputs * sizeof(float);
inline constexpr size_t kPanelScratchBytes = kPanelTotalsBytes + kSliceElements / 32 * 1408;

// One panel times all rows of a call.
struct PanelJob {
  const std::byte* panel;
  int64_t inputs;                // K
  const std::byte* activations;  // packed for all `tiles`
  int64_t activation_slice_bytes;
  const RowTile* tiles;  // of packed rows, from row 0, at most kMaxPanelRows in all
  int tile_count;
  int terms;          // packed rows that add up to a row of out
  const float* bias;  // kPanelOutputs of them, or null
  float* out;         // [rows][out_stride], the panel's first output
  ptrdiff_t out_stride;
  int outputs;         // of the panel that exist: the others are padding
  std::byte* scratch;  // kPanelScratchBytes of the calling worker, 64-byte aligned
};

struct LinearKernels {
  ActivationFormat activations[kActivationKinds];
  void (*panel[kPackings])(const PanelJob& job);
};

}  // namespace lockstep::device::cpu
