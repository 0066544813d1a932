// The table of matrix kernels of this translation unit's instruction set.
#pragma once

#include "device/cpu/linear_float-inl.h"
#include "device/cpu/linear_int8-inl.h"

namespace lockstep::device::cpu {
namespace {

constexpr LinearKernels make_linear_kernels() {
  // Tiles that read a panel's codes themselves before unpacking a slice for all of them pays.
  constexpr int kSuperblockTiles = 4;  // Q4_K: its scales are two products
  constexpr int kSixBitTiles = 2;
  constexpr int kNeverUnpack = kMaxPanelRows;  // codes at hand, or a type not tuned yet
  constexpr int kInt8Rows = kInt8TileRows % kInt8Terms == 0 ? kInt8TileRows : 2 * kInt8TileRows;
  return {
      .activations =
          {
              {1, sizeof(float), kFloatTileRows, 1, pack_f32},
              {2, kBf16UnitBytes, kBF16TileRows, 1, pack_bf16},
              {kBlock, sizeof(Int8Unit), kInt8Rows, kInt8Terms, pack_int8},
          },
      .panel =
          {
              multiply_panel<FloatKernel<StepF32>>,
              multiply_panel<FloatKernel<StepF16>>,
              multiply_panel<FloatKernel<StepBF16Wide>>,
              multiply_panel<FloatKernel<StepBF16>>,
              multiply_panel<Int8Kernel<FormatQ8_0, kNeverUnpack>>,
              multiply_panel<Int8Kernel<FormatQ4_0, kNeverUnpack>>,
              multiply_panel<Int8Kernel<FormatQ4_1, kNeverUnpack>>,
              multiply_panel<Int8Kernel<FormatQ4_K, kSuperblockTiles>>,
              multiply_panel<Int8Kernel<FormatQ6_K, kSixBitTiles>>,
              multiply_panel<Int8Kernel<FormatQ2_K, kNeverUnpack>>,
              multiply_panel<Int8Kernel<FormatBytes, kNeverUnpack>>,
              multiply_panel<Int8Kernel<FormatFiveBits, kNeverUnpack>>,
          },
  };
}

}  // namespace
}  // namespace lockstep::device::cpu
