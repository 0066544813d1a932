// Matrices of block types times int8 activations. Orders: docs/numerics.md, Linear.
#pragma once

#include "device/cpu/linear_panel-inl.h"
#include "device/cpu/packed_layout.h"

namespace lockstep::device::cpu {
namespace {

constexpr int kBlock = 32;

// ---- Activations: quant32 and quant32 of its remainder, packed as two rows.

// A block of a row.
struct Int8Unit {
  int8_t q[kBlock];
  float d;
  float d_sum;        // d * float(sum)
  int32_t start8;     // -128 sum: what codes stored as value + 128 add too much
  int32_t sum_first;  // of q[0] to q[15]
};
static_assert(sizeof(Int8Unit) == 48);

// 2^kShift times the sum of q in one half.
template <int kShift>
I half_sum(const Int8Unit& a, int half) {
  const I first = Lanes::broadcast_int(&a.sum_first);
  if (half == 0) return Lanes::template shl<kShift>(first);
  const I sum =
      Lanes::isub(Lanes::iset(0), Lanes::template sra<7>(Lanes::broadcast_int(&a.start8)));
  return Lanes::template shl<kShift>(Lanes::isub(sum, first));
}

// `rest` becomes x - q d.
inline void quantise_block(const float* x, Int8Unit& to, float* rest) {
  constexpr int32_t kInfinity = 0x7f800000;
  constexpr int32_t kTiny = (127 - 100) << 23;  // 2^-100
  I largest = Lanes::iset(0);
  for (int i = 0; i < kBlock; i += Lanes::kLanes) {
    const I magnitude = Lanes::iand(Lanes::bits(Lanes::load(x + i)), Lanes::iset(0x7fffffff));
    largest = Lanes::imax(largest, magnitude);
  }
  const int32_t m = Lanes::reduce_max(largest);
  if (m >= kInfinity || m < kTiny) {
    to = Int8Unit{};
    if (m >= kInfinity) to.d = to.d_sum = __builtin_nanf("");
    __builtin_memcpy(rest, x, kBlock * sizeof(float));  // q is 0; NaN stays NaN
    return;
  }
  to.d = __builtin_bit_cast(float, m) / 127.0f;
  const F scale = Lanes::set(127.0f / __builtin_bit_cast(float, m));
  const F d = Lanes::set(to.d);
  I first = Lanes::iset(0);
  I second = Lanes::iset(0);
  for (int i = 0; i < kBlock; i += Lanes::kLanes) {
    const F values = Lanes::load(x + i);
    const I q = Lanes::to_int(Lanes::mul(values, scale));
    Lanes::store_s8(to.q + i, q);
    Lanes::store(rest + i, Lanes::nfma(Lanes::to_float(q), d, values));
    I& sum = i < kBlock / 2 ? first : second;
    sum = Lanes::iadd(sum, q);
  }
  to.sum_first = Lanes::reduce_add(first);
  const int32_t sum = to.sum_first + Lanes::reduce_add(second);
  to.d_sum = to.d * static_cast<float>(sum);
  to.start8 = -128 * sum;
}

inline void pack_int8(const float* in, ptrdiff_t in_stride, int rows, int elements,
                      std::byte* out) {
  auto* to = reinterpret_cast<Int8Unit*>(out);
  alignas(64) float rest[kInt8Terms][kBlock];
  for (int r = 0; r < rows; r += kInt8Terms) {
    const float* x = in + r / kInt8Terms * in_stride;
    for (int b = 0; b < elements / kBlock; ++b) {
      Int8Unit* pair = to + b * rows + r;
      quantise_block(x + b * kBlock, pair[0], rest[0]);
      quantise_block(rest[0], pair[1], rest[1]);
    }
  }
}

// ---- Formats: how one block of 32 outputs x 32 elements is read.
//   Dot                       which byte dot product its codes need
//   kHalves                   1, or 2 where each half of a block has a scale of its own
//   at(slice, block)          where the block is
//   codes(block, output, s)   vectors of step s and of step s + 4
//   start(unit, half)         what the integer sum starts from
//   scale                     factor of d
//   minimum                   factor of d_sum, or, where kHalves is 2, of -d (where kMinimum)
//   half_scale, half_minimum(block, output, half)   where kHalves is 2 (and kMinimum)

struct CodePair {
  I low[kVectors];   // step s
  I high[kVectors];  // step s + 4
};

inline CodePair nibble_codes(const uint8_t (&codes)[4][kPanelOutputs][4], int output, int s) {
  CodePair c;
  const I mask = Lanes::iset(0x0f0f0f0f);
  for (int v = 0; v < kVectors; ++v) {
    const I x = Lanes::load_int(codes[s][output + v * Lanes::kLanes]);
    c.low[v] = Lanes::iand(x, mask);
    c.high[v] = Lanes::iand(Lanes::template shr<4>(x), mask);
  }
  return c;
}

inline CodePair byte_codes(const uint8_t (&codes)[8][kPanelOutputs][4], int output, int s) {
  CodePair c;
  for (int v = 0; v < kVectors; ++v) {
    c.low[v] = Lanes::load_int(codes[s][output + v * Lanes::kLanes]);
    c.high[v] = Lanes::load_int(codes[s + 4][output + v * Lanes::kLanes]);
  }
  return c;
}

struct FormatQ8_0 {
  using Dot = Lanes::Dot8;
  using Block = const PackedQ8_0*;
  static constexpr int kSliceBytes = kSliceElements / 32 * sizeof(PackedQ8_0);
  static constexpr int kHalves = 1;
  static constexpr bool kMinimum = false;
  static Block at(const std::byte* slice, int block) {
    return reinterpret_cast<Block>(slice) + block;
  }
  static CodePair codes(Block b, int output, int s) { return byte_codes(b->codes, output, s); }
  static I start(const Int8Unit& a, int) { return Lanes::broadcast_int(&a.start8); }
  static F scale(Block b, int output) { return Lanes::load_f16(b->d + output); }
};

struct FormatQ4_0 {
  using Dot = Lanes::Dot4;
  using Block = const PackedQ4_0*;
  static constexpr int kSliceBytes = kSliceElements / 32 * sizeof(PackedQ4_0);
  static constexpr int kHalves = 1;
  static constexpr bool kMinimum = false;
  static Block at(const std::byte* slice, int block) {
    return reinterpret_cast<Block>(slice) + block;
  }
  static CodePair codes(Block b, int output, int s) { return nibble_codes(b->codes, output, s); }
  static I start(const Int8Unit& a, int) {  // -8 sum
    return Lanes::template sra<4>(Lanes::broadcast_int(&a.start8));
  }
  static F scale(Block b, int output) { return Lanes::load_f16(b->d + output); }
};

struct FormatQ4_1 {
  using Dot = Lanes::Dot4;
  using Block = const PackedQ4_1*;
  static constexpr int kSliceBytes = kSliceElements / 32 * sizeof(PackedQ4_1);
  static constexpr int kHalves = 1;
  static constexpr bool kMinimum = true;
  static Block at(const std::byte* slice, int block) {
    return reinterpret_cast<Block>(slice) + block;
  }
  static CodePair codes(Block b, int output, int s) { return nibble_codes(b->codes, output, s); }
  static I start(const Int8Unit&, int) { return Lanes::iset(0); }
  static F scale(Block b, int output) { return Lanes::load_f16(b->d + output); }
  static F minimum(Block b, int output) { return Lanes::load_f16(b->m + output); }
};

struct FormatQ4_K {
  using Dot = Lanes::Dot4;
  struct Block {
    const PackedQ4_K* super;
    const PackedQ4_K::Group* group;
  };
  static constexpr int kSliceBytes = kSliceElements / 256 * sizeof(PackedQ4_K);
  static constexpr int kHalves = 1;
  static constexpr bool kMinimum = true;
  static Block at(const std::byte* slice, int block) {
    const auto* super = reinterpret_cast<const PackedQ4_K*>(slice) + block / 8;
    return {super, &super->groups[block % 8]};
  }
  static CodePair codes(Block b, int output, int s) {
    return nibble_codes(b.group->codes, output, s);
  }
  static I start(const Int8Unit&, int) { return Lanes::iset(0); }
  static F scale(Block b, int output) {
    const F sc = Lanes::to_float(Lanes::load_u8(b.group->sc + output));
    return Lanes::mul(Lanes::load_f16(b.super->d + output), sc);
  }
  static F minimum(Block b, int output) {
    const F mn = Lanes::to_float(Lanes::load_u8(b.group->mn + output));
    return Lanes::neg(Lanes::mul(Lanes::load_f16(b.super->dmin + output), mn));
  }
};

struct FormatQ6_K {
  using Dot = Lanes::Dot6;
  struct Block {
    const PackedQ6_K* super;
    const PackedQ6_K::Group* group;
  };
  static constexpr int kSliceBytes = kSliceElements / 256 * sizeof(PackedQ6_K);
  static constexpr int kHalves = 2;
  static constexpr bool kMinimum = false;
  static Block at(const std::byte* slice, int block) {
    const auto* super = reinterpret_cast<const PackedQ6_K*>(slice) + block / 8;
    return {super, &super->groups[block % 8]};
  }
  static CodePair codes(Block b, int output, int s) {
    CodePair c = nibble_codes(b.group->low, output, s);
    for (int v = 0; v < kVectors; ++v) {
      const int n = output + v * Lanes::kLanes;
      c.low[v] = Lanes::ior(c.low[v], high_bits(Lanes::load_int(b.group->high[0][n]), s));
      c.high[v] = Lanes::ior(c.high[v], high_bits(Lanes::load_int(b.group->high[1][n]), s));
    }
    return c;
  }
  static I start(const Int8Unit& a, int half) {
    return Lanes::isub(Lanes::iset(0), half_sum<5>(a, half));  // -32 (sum of the half)
  }
  static F scale(Block b, int output) { return Lanes::load_f16(b.super->d + output); }
  static F half_scale(Block b, int output, int half) {
    return Lanes::to_float(Lanes::load_s8(b.group->sc[half] + output));
  }

 private:
  // Bit pair s of each byte, moved to bits 4 and 5.
  static I high_bits(I pairs, int s) {
    const I moved = s == 0   ? Lanes::template shl<4>(pairs)
                    : s == 1 ? Lanes::template shl<2>(pairs)
                    : s == 2 ? pairs
                             : Lanes::template shr<2>(pairs);
    return Lanes::iand(moved, Lanes::iset(0x30303030));
  }
};

struct FormatQ2_K {
  using Dot = Lanes::Dot4;
  struct Block {
    const PackedQ2_K* super;
    const PackedQ2_K::Group* group;
  };
  static constexpr int kSliceBytes = kSliceElements / 256 * sizeof(PackedQ2_K);
  static constexpr int kHalves = 2;
  static constexpr bool kMinimum = true;
  static Block at(const std::byte* slice, int block) {
    const auto* super = reinterpret_cast<const PackedQ2_K*>(slice) + block / 8;
    return {super, &super->groups[block % 8]};
  }
  static CodePair codes(Block b, int output, int s) {
    return nibble_codes(b.group->codes, output, s);
  }
  static I start(const Int8Unit&, int) { return Lanes::iset(0); }
  static F scale(Block b, int output) { return Lanes::load_f16(b.super->d + output); }
  static F minimum(Block b, int output) { return Lanes::load_f16(b.super->dmin + output); }
  static F half_scale(Block b, int output, int half) {
    return Lanes::to_float(Lanes::load_u8(b.group->sc[half] + output));
  }
  static F half_minimum(Block b, int output, int half) {
    return Lanes::to_float(Lanes::load_u8(b.group->mn[half] + output));
  }
};

struct FormatBytes {
  using Dot = Lanes::Dot8;
  using Block = const PackedBytes*;
  static constexpr int kSliceBytes = kSliceElements / 32 * sizeof(PackedBytes);
  static constexpr int kHalves = 1;
  static constexpr bool kMinimum = false;
  static Block at(const std::byte* slice, int block) {
    return reinterpret_cast<Block>(slice) + block;
  }
  static CodePair codes(Block b, int output, int s) { return byte_codes(b->codes, output, s); }
  static I start(const Int8Unit& a, int) { return Lanes::broadcast_int(&a.start8); }
  static F scale(Block b, int output) { return Lanes::load(b->scale + output); }
};

struct FormatFiveBits {
  using Dot = Lanes::Dot6;
  using Block = const PackedFiveBits*;
  static constexpr int kSliceBytes = kSliceElements / 32 * sizeof(PackedFiveBits);
  static constexpr int kHalves = 1;
  static constexpr bool kMinimum = true;
  static Block at(const std::byte* slice, int block) {
    return reinterpret_cast<Block>(slice) + block;
  }
  static CodePair codes(Block b, int output, int s) {
    CodePair c = nibble_codes(b->low, output, s);
    for (int v = 0; v < kVectors; ++v) {
      const I bits = Lanes::load_int(b->high[output + v * Lanes::kLanes]);
      c.low[v] = Lanes::ior(c.low[v], fifth_bit(bits, s));
      c.high[v] = Lanes::ior(c.high[v], fifth_bit(bits, s + 4));
    }
    return c;
  }
  static I start(const Int8Unit&, int) { return Lanes::iset(0); }
  static F scale(Block b, int output) { return Lanes::load(b->scale + output); }
  static F minimum(Block b, int output) { return Lanes::load(b->minimum + output); }

 private:
  // Bit `step` of each byte, moved to bit 4.
  static I fifth_bit(I bits, int step) {
    const I moved = step == 0   ? Lanes::template shl<4>(bits)
                    : step == 1 ? Lanes::template shl<3>(bits)
                    : step == 2 ? Lanes::template shl<2>(bits)
                    : step == 3 ? Lanes::template shl<1>(bits)
                    : step == 4 ? bits
                    : step == 5 ? Lanes::template shr<1>(bits)
                    : step == 6 ? Lanes::template shr<2>(bits)
                                : Lanes::template shr<3>(bits);
    return Lanes::iand(moved, Lanes::iset(0x10101010));
  }
};

// A block unpacked to bytes and f32, for many rows: the integer sums and factors are the same.
struct UnpackedBlock {
  uint8_t codes[8][kPanelOutputs][4];
  float scale[kPanelOutputs];
  float extra[2][kPanelOutputs];  // [0] the minimum; or both half scales
};
static_assert(kPanelTotalsBytes + kSliceElements / kBlock * sizeof(UnpackedBlock) <=
              kPanelScratchBytes);

template <class Source>
struct FormatUnpacked {
  using Dot = typename Source::Dot;
  using Block = const UnpackedBlock*;
  static constexpr int kHalves = Source::kHalves;
  static constexpr bool kMinimum = Source::kMinimum;
  static Block at(const std::byte* slice, int block) {
    return reinterpret_cast<Block>(slice) + block;
  }
  static CodePair codes(Block b, int output, int s) { return byte_codes(b->codes, output, s); }
  static I start(const Int8Unit& a, int half) { return Source::start(a, half); }
  static F scale(Block b, int output) { return Lanes::load(b->scale + output); }
  static F minimum(Block b, int output) { return Lanes::load(b->extra[0] + output); }
  static F half_scale(Block b, int output, int half) {
    return Lanes::load(b->extra[half] + output);
  }
};

template <class Source>
[[gnu::noinline]] void unpack_slice(const std::byte* slice, int blocks, UnpackedBlock* to) {
  for (int i = 0; i < blocks; ++i, ++to) {
    const typename Source::Block b = Source::at(slice, i);
    for (int output = 0; output < kPanelOutputs; output += kPassOutputs) {
#pragma GCC unroll 4
      for (int s = 0; s < 4; ++s) {
        const CodePair c = Source::codes(b, output, s);
        for (int v = 0; v < kVectors; ++v) {
          Lanes::store_int(to->codes[s][output + v * Lanes::kLanes], c.low[v]);
          Lanes::store_int(to->codes[s + 4][output + v * Lanes::kLanes], c.high[v]);
        }
      }
    }
    for (int n = 0; n < kPanelOutputs; n += Lanes::kLanes) {
      Lanes::store(to->scale + n, Source::scale(b, n));
      if constexpr (Source::kMinimum) Lanes::store(to->extra[0] + n, Source::minimum(b, n));
      if constexpr (Source::kHalves == 2) {
        for (int half = 0; half < 2; ++half) {
          Lanes::store(to->extra[half] + n, Source::half_scale(b, n, half));
        }
      }
    }
  }
}

// ---- The microkernel.

template <class Format, int kRows>
struct BlockSums {
  I sums[Format::kHalves][kRows][kVectors];
};

// The integer dot products of a block with rows a[0..kRows).
template <class Format, int kRows>
[[gnu::always_inline]] inline BlockSums<Format, kRows> dot_block(typename Format::Block b,
                                                                 int output, const Int8Unit* a) {
  using Dot = typename Format::Dot;
  constexpr int kLast = Format::kHalves - 1;  // which sum steps 4 to 7 belong to
  BlockSums<Format, kRows> acc;
  for (int half = 0; half < Format::kHalves; ++half) {
    for (int r = 0; r < kRows; ++r) {
      const I begin = Dot::begin(Format::start(a[r], half));
      for (int v = 0; v < kVectors; ++v) acc.sums[half][r][v] = begin;
    }
  }
#pragma GCC unroll 4
  for (int s = 0; s < 4; ++s) {
    const CodePair c = Format::codes(b, output, s);
    for (int v = 0; v < kVectors; ++v) {
      const auto low = Dot::weights(c.low[v]);
      const auto high = Dot::weights(c.high[v]);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        I& first = acc.sums[0][r][v];
        first = Dot::step(first, low, Lanes::broadcast_int(a[r].q + 4 * s));
        I& last = acc.sums[kLast][r][v];
        last = Dot::step(last, high, Lanes::broadcast_int(a[r].q + 4 * (s + 4)));
      }
    }
  }
  for (int half = 0; half < Format::kHalves; ++half) {
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) {
        I& sum = acc.sums[half][r][v];
        sum = Dot::finish(sum, Format::start(a[r], half));
      }
    }
  }
  return acc;
}

// float(s) of row r: where halves have scales, sc0 s0 + sc1 s1 stays below 2^24, so that f32
// arithmetic on it is exact.
template <class Format, int kRows>
F sum_as_float(const BlockSums<Format, kRows>& acc, typename Format::Block b, int output, int r,
               int v) {
  const F first = Lanes::to_float(acc.sums[0][r][v]);
  if constexpr (Format::kHalves == 1) {
    return first;
  } else {
    const int n = output + v * Lanes::kLanes;
    const F second = Lanes::to_float(acc.sums[1][r][v]);
    return Lanes::fma(second, Format::half_scale(b, n, 1),
                      Lanes::mul(first, Format::half_scale(b, n, 0)));
  }
}

// Adds the minimum's term to the chains of rows a[0..kRows).
template <class Format, int kRows>
[[gnu::always_inline]] inline void add_minimum(F (&acc)[kRows][kVectors], typename Format::Block b,
                                               int output, const Int8Unit* a) {
  for (int v = 0; v < kVectors; ++v) {
    const int n = output + v * Lanes::kLanes;
    const F minimum = Format::minimum(b, n);
    for (int r = 0; r < kRows; ++r) {
      if constexpr (Format::kHalves == 1) {
        acc[r][v] = Lanes::fma(minimum, Lanes::set(a[r].d_sum), acc[r][v]);
      } else {  // mn0 sum0 + mn1 sum1, exact as in sum_as_float
        const F first = Lanes::to_float(half_sum<0>(a[r], 0));
        const F second = Lanes::to_float(half_sum<0>(a[r], 1));
        const F t = Lanes::fma(second, Format::half_minimum(b, n, 1),
                               Lanes::mul(first, Format::half_minimum(b, n, 0)));
        acc[r][v] = Lanes::nfma(t, Lanes::mul(minimum, Lanes::set(a[r].d)), acc[r][v]);
      }
    }
  }
}

// Adds a block's terms to the chains of rows a[0..kRows).
template <class Format, int kRows>
[[gnu::always_inline]] inline void add_block(F (&acc)[kRows][kVectors], typename Format::Block b,
                                             int output, const Int8Unit* a) {
  const BlockSums<Format, kRows> sums = dot_block<Format, kRows>(b, output, a);
  for (int v = 0; v < kVectors; ++v) {
    const F scale = Format::scale(b, output + v * Lanes::kLanes);
    for (int r = 0; r < kRows; ++r) {
      const F s = sum_as_float<Format, kRows>(sums, b, output, r, v);
      acc[r][v] = Lanes::fma(s, Lanes::mul(scale, Lanes::set(a[r].d)), acc[r][v]);
    }
  }
  if constexpr (Format::kMinimum) add_minimum<Format>(acc, b, output, a);
}

template <class Format>
struct Int8Tile {
  // `a_step` units lie between a row's blocks: the rows of the tile that these rows are part of.
  template <int kRows>
  [[gnu::noinline]] static void run(const std::byte* weights, int blocks, const Int8Unit* a,
                                    int a_step, float* totals, bool first, Prefetch prefetch) {
    for (int output = 0; output < kPanelOutputs; output += kPassOutputs) {
      F acc[kRows][kVectors];
      for (int r = 0; r < kRows; ++r) {
        for (int v = 0; v < kVectors; ++v) acc[r][v] = Lanes::zero();
      }
      const Int8Unit* x = a;
      for (int i = 0; i < blocks; ++i, x += a_step) {
        if (output == 0) prefetch.step();
        add_block<Format, kRows>(acc, Format::at(weights, i), output, x);
      }
      add_to_totals<kRows>(acc, output, first, totals);
    }
  }
};

template <class Format>
constexpr int kMicroRows = Format::kHalves == 2 ? kHalvesTileRows : kInt8TileRows;

template <class Format>
void int8_tile(const std::byte* weights, int blocks, RowTile tile, const Int8Unit* slice,
               float* totals, bool first, Prefetch prefetch) {
  const Int8Unit* a = slice + tile.first_row * blocks;
  for (int r = 0; r < tile.rows;) {
    const int left = tile.rows - r;
    const int calls = (left + kMicroRows<Format> - 1) / kMicroRows<Format>;
    const int rows = (left + calls - 1) / calls;
    call_tile<Int8Tile<Format>, kMicroRows<Format>>(rows, weights, blocks, a + r, tile.rows,
                                                    totals + (tile.first_row + r) * kPanelOutputs,
                                                    first, prefetch);
    r += rows;
    prefetch.lines = 0;
  }
}

// kDirectTiles: up to how many tiles read the packed panel themselves; more share a slice unpacked.
template <class Format, int kDirectTiles>
struct Int8Kernel {
  static constexpr int kSliceBytes = Format::kSliceBytes;

  static void slice(const PanelJob& job, const std::byte* weights, int elements,
                    const std::byte* activations, float* totals, bool first) {
    const int blocks = elements / kBlock;
    const auto* a = reinterpret_cast<const Int8Unit*>(activations);
    const auto prefetch = [&](int tile) {
      return Prefetch(weights, kSliceBytes, kSliceElements / kBlock, tile, job.tile_count);
    };
    if (kDirectTiles >= kMaxPanelRows || job.tile_count <= kDirectTiles) {
      for (int t = 0; t < job.tile_count; ++t) {
        int8_tile<Format>(weights, blocks, job.tiles[t], a, totals, first, prefetch(t));
      }
    } else if constexpr (kDirectTiles < kMaxPanelRows) {
      multiply_unpacked(job, weights, blocks, a, totals, first, prefetch);
    }
  }

 private:
  template <class MakePrefetch>
  static void multiply_unpacked(const PanelJob& job, const std::byte* weights, int blocks,
                                const Int8Unit* a, float* totals, bool first,
                                const MakePrefetch& prefetch) {
    auto* unpacked = reinterpret_cast<UnpackedBlock*>(job.scratch + kPanelTotalsBytes);
    unpack_slice<Format>(weights, blocks, unpacked);
    for (int t = 0; t < job.tile_count; ++t) {
      int8_tile<FormatUnpacked<Format>>(reinterpret_cast<const std::byte*>(unpacked), blocks,
                                        job.tiles[t], a, totals, first, prefetch(t));
    }
  }
};

}  // namespace
}  // namespace lockstep::device::cpu
