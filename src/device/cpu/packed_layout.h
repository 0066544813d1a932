// How matrices lie in memory once packed: the same bytes for every instruction set. Panels of 32
// outputs follow one another; a panel is contiguous along K, so one row of work streams it once.
//
//   plain types   kF32 f32[k][32]; kF16 f16[k][32]; kBF16, kBF16Wide u32[k / 2][32], low half the
//                 even element, an odd K's last high half +0
//   block types   one of the structs below a block (or superblock) of K
//
// Types that no struct is named after go into the smallest that holds their codes and scales as
// they are: more bytes than in the file (IQ4_NL, Q3_K and MXFP4 twice as many), but no kernel of
// their own.
//
// In `codes[step][output][4]` a lane of 32 bits holds four consecutive k of one output: the operand
// of a byte dot product. Nibbles: the low one is step s, the high one step s + 4.
#pragma once

#include <cstdint>

#include "device/cpu/linear_kernels.h"

namespace lockstep::device::cpu {

struct PackedQ8_0 {
  uint8_t codes[8][kPanelOutputs][4];  // code + 128
  uint16_t d[kPanelOutputs];           // f16
};

struct PackedQ4_0 {
  uint8_t codes[4][kPanelOutputs][4];  // nibbles: code + 8
  uint16_t d[kPanelOutputs];
};

struct PackedQ4_1 {
  uint8_t codes[4][kPanelOutputs][4];
  uint16_t d[kPanelOutputs];
  uint16_t m[kPanelOutputs];
};

struct PackedQ4_K {
  struct Group {
    uint8_t codes[4][kPanelOutputs][4];
    uint8_t sc[kPanelOutputs];
    uint8_t mn[kPanelOutputs];
  };
  uint16_t d[kPanelOutputs];
  uint16_t dmin[kPanelOutputs];
  Group groups[8];
};

struct PackedQ6_K {
  struct Group {
    uint8_t low[4][kPanelOutputs][4];   // nibbles of code + 32
    uint8_t high[2][kPanelOutputs][4];  // bits 4 and 5 of step s: bits 2 (s % 4) of high[s / 4]
    int8_t sc[2][kPanelOutputs];        // steps 0..3, steps 4..7
  };
  uint16_t d[kPanelOutputs];
  Group groups[8];
};

struct PackedQ2_K {
  struct Group {
    uint8_t codes[4][kPanelOutputs][4];  // nibbles
    uint8_t sc[2][kPanelOutputs];        // of the halves, as in Q6_K
    uint8_t mn[2][kPanelOutputs];
  };
  uint16_t d[kPanelOutputs];
  uint16_t dmin[kPanelOutputs];
  Group groups[8];
};

struct PackedBytes {
  uint8_t codes[8][kPanelOutputs][4];  // code + 128
  float scale[kPanelOutputs];          // d * sc
};

struct PackedFiveBits {
  uint8_t low[4][kPanelOutputs][4];  // nibbles of the code
  uint8_t high[kPanelOutputs][4];    // bit s: the fifth bit of step s
  float scale[kPanelOutputs];        // d * sc
  float minimum[kPanelOutputs];      // -(m * mn): is added
};

// Every block keeps the next one on a cache line.
static_assert(sizeof(PackedQ8_0) == 1088 && sizeof(PackedQ8_0) % 64 == 0);
static_assert(sizeof(PackedQ4_0) == 576 && sizeof(PackedQ4_0) % 64 == 0);
static_assert(sizeof(PackedQ4_1) == 640 && sizeof(PackedQ4_1) % 64 == 0);
static_assert(sizeof(PackedQ4_K) == 4736 && sizeof(PackedQ4_K) % 64 == 0);
static_assert(sizeof(PackedQ6_K) == 6720 && sizeof(PackedQ6_K) % 64 == 0);
static_assert(sizeof(PackedQ2_K) == 5248 && sizeof(PackedQ2_K) % 64 == 0);
static_assert(sizeof(PackedBytes) == 1152 && sizeof(PackedBytes) % 64 == 0);
static_assert(sizeof(PackedFiveBits) == 896 && sizeof(PackedFiveBits) % 64 == 0);

}  // namespace lockstep::device::cpu
