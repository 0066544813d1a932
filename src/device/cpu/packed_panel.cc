#include "device/cpu/packed_panel.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <type_traits>

#include "base/float16.h"
#include "base/status.h"
#include "device/cpu/packed_layout.h"
#include "device/linear_rule.h"
#include "device/quant_blocks.h"

namespace lockstep::device::cpu {
namespace {

// ---- Nibbles and bytes of one output's group of 32.

using Nibbles = uint8_t[4][kPanelOutputs][4];

void put_nibbles(Nibbles& codes, int output, const QuantGroup& g, int offset) {
  for (size_t s = 0; s < 4; ++s) {
    for (size_t j = 0; j < 4; ++j) {
      const int low = g.codes[4 * s + j] + offset;
      const int high = g.codes[4 * s + 16 + j] + offset;
      codes[s][output][j] = static_cast<uint8_t>((low & 15) | ((high & 15) << 4));
    }
  }
}

void get_nibbles(const Nibbles& codes, int output, int offset, QuantGroup& g) {
  for (size_t s = 0; s < 4; ++s) {
    for (size_t j = 0; j < 4; ++j) {
      const uint8_t both = codes[s][output][j];
      g.codes[4 * s + j] = static_cast<int8_t>((both & 15) - offset);
      g.codes[4 * s + 16 + j] = static_cast<int8_t>((both >> 4) - offset);
    }
  }
}

void put_bytes(uint8_t (&codes)[8][kPanelOutputs][4], int output, const QuantGroup& g) {
  for (size_t i = 0; i < kGroupSize; ++i) {
    codes[i / 4][output][i % 4] = static_cast<uint8_t>(g.codes[i] + 128);
  }
}

void get_bytes(const uint8_t (&codes)[8][kPanelOutputs][4], int output, QuantGroup& g) {
  for (size_t i = 0; i < kGroupSize; ++i) {
    g.codes[i] = static_cast<int8_t>(codes[i / 4][output][i % 4] - 128);
  }
}

// ---- One output's group in each struct: put and its inverse, get, which returns the same values
// in the form that the struct keeps. Scales that came from f16 go back exactly.

void put(PackedQ8_0& block, int64_t, int output, const QuantGroup& g) {
  put_bytes(block.codes, output, g);
  block.d[output] = f16_from_f32(g.d);
}

void get(const PackedQ8_0& block, int64_t, int output, QuantGroup& g) {
  get_bytes(block.codes, output, g);
  g.d = f32_from_f16(block.d[output]);
}

void put(PackedQ4_0& block, int64_t, int output, const QuantGroup& g) {
  put_nibbles(block.codes, output, g, 8);
  block.d[output] = f16_from_f32(g.d);
}

void get(const PackedQ4_0& block, int64_t, int output, QuantGroup& g) {
  get_nibbles(block.codes, output, 8, g);
  g.d = f32_from_f16(block.d[output]);
}

void put(PackedQ4_1& block, int64_t, int output, const QuantGroup& g) {
  put_nibbles(block.codes, output, g, 0);
  block.d[output] = f16_from_f32(g.d);
  block.m[output] = f16_from_f32(g.m);
}

void get(const PackedQ4_1& block, int64_t, int output, QuantGroup& g) {
  get_nibbles(block.codes, output, 0, g);
  g.d = f32_from_f16(block.d[output]);
  g.m = f32_from_f16(block.m[output]);
  g.mn = {-1, -1};
}

void put(PackedQ4_K& block, int64_t group, int output, const QuantGroup& g) {
  PackedQ4_K::Group& to = block.groups[group % 8];
  put_nibbles(to.codes, output, g, 0);
  to.sc[output] = static_cast<uint8_t>(g.sc[0]);
  to.mn[output] = static_cast<uint8_t>(g.mn[0]);
  block.d[output] = f16_from_f32(g.d);
  block.dmin[output] = f16_from_f32(g.m);
}

void get(const PackedQ4_K& block, int64_t group, int output, QuantGroup& g) {
  const PackedQ4_K::Group& from = block.groups[group % 8];
  get_nibbles(from.codes, output, 0, g);
  g.sc.fill(static_cast<int8_t>(from.sc[output]));
  g.mn.fill(static_cast<int8_t>(from.mn[output]));
  g.d = f32_from_f16(block.d[output]);
  g.m = f32_from_f16(block.dmin[output]);
}

void put(PackedQ6_K& block, int64_t group, int output, const QuantGroup& g) {
  PackedQ6_K::Group& to = block.groups[group % 8];
  put_nibbles(to.low, output, g, 32);
  for (size_t i = 0; i < kGroupSize; ++i) {
    const int top = (g.codes[i] + 32) >> 4;
    to.high[i / 16][output][i % 4] |= static_cast<uint8_t>(top << (2 * (i / 4 % 4)));
  }
  for (size_t half = 0; half < 2; ++half) to.sc[half][output] = g.sc[half];
  block.d[output] = f16_from_f32(g.d);
}

void get(const PackedQ6_K& block, int64_t group, int output, QuantGroup& g) {
  const PackedQ6_K::Group& from = block.groups[group % 8];
  get_nibbles(from.low, output, 0, g);
  for (size_t i = 0; i < kGroupSize; ++i) {
    const int top = (from.high[i / 16][output][i % 4] >> (2 * (i / 4 % 4))) & 3;
    g.codes[i] = static_cast<int8_t>((g.codes[i] | (top << 4)) - 32);
  }
  for (size_t half = 0; half < 2; ++half) g.sc[half] = from.sc[half][output];
  g.d = f32_from_f16(block.d[output]);
}

void put(PackedQ2_K& block, int64_t group, int output, const QuantGroup& g) {
  PackedQ2_K::Group& to = block.groups[group % 8];
  put_nibbles(to.codes, output, g, 0);
  for (size_t half = 0; half < 2; ++half) {
    to.sc[half][output] = static_cast<uint8_t>(g.sc[half]);
    to.mn[half][output] = static_cast<uint8_t>(g.mn[half]);
  }
  block.d[output] = f16_from_f32(g.d);
  block.dmin[output] = f16_from_f32(g.m);
}

void get(const PackedQ2_K& block, int64_t group, int output, QuantGroup& g) {
  const PackedQ2_K::Group& from = block.groups[group % 8];
  get_nibbles(from.codes, output, 0, g);
  for (size_t half = 0; half < 2; ++half) {
    g.sc[half] = static_cast<int8_t>(from.sc[half][output]);
    g.mn[half] = static_cast<int8_t>(from.mn[half][output]);
  }
  g.d = f32_from_f16(block.d[output]);
  g.m = f32_from_f16(block.dmin[output]);
}

void put(PackedBytes& block, int64_t, int output, const QuantGroup& g) {
  put_bytes(block.codes, output, g);
  block.scale[output] = g.d * static_cast<float>(g.sc[0]);
}

void get(const PackedBytes& block, int64_t, int output, QuantGroup& g) {
  get_bytes(block.codes, output, g);
  g.d = block.scale[output];
}

void put(PackedFiveBits& block, int64_t, int output, const QuantGroup& g) {
  put_nibbles(block.low, output, g, 0);
  for (size_t i = 0; i < kGroupSize; ++i) {
    block.high[output][i % 4] |= static_cast<uint8_t>((g.codes[i] >> 4) << (i / 4));
  }
  block.scale[output] = g.d * static_cast<float>(g.sc[0]);
  block.minimum[output] = -(g.m * static_cast<float>(g.mn[0]));
}

void get(const PackedFiveBits& block, int64_t, int output, QuantGroup& g) {
  get_nibbles(block.low, output, 0, g);
  for (size_t i = 0; i < kGroupSize; ++i) {
    const int bit = (block.high[output][i % 4] >> (i / 4)) & 1;
    g.codes[i] = static_cast<int8_t>(g.codes[i] | (bit << 4));
  }
  g.d = block.scale[output];
  g.m = block.minimum[output];
  g.mn = {-1, -1};
}

template <class Block>
constexpr int kGroupsABlock = 1;
template <>
constexpr int kGroupsABlock<PackedQ4_K> = 8;
template <>
constexpr int kGroupsABlock<PackedQ6_K> = 8;
template <>
constexpr int kGroupsABlock<PackedQ2_K> = 8;

// Calls f with the packing's struct.
template <class F>
void with_block_type(Packing packing, F&& f) {
  switch (packing) {
    case Packing::kQ8_0:
      return f(std::type_identity<PackedQ8_0>());
    case Packing::kQ4_0:
      return f(std::type_identity<PackedQ4_0>());
    case Packing::kQ4_1:
      return f(std::type_identity<PackedQ4_1>());
    case Packing::kQ4_K:
      return f(std::type_identity<PackedQ4_K>());
    case Packing::kQ6_K:
      return f(std::type_identity<PackedQ6_K>());
    case Packing::kQ2_K:
      return f(std::type_identity<PackedQ2_K>());
    case Packing::kBytes:
      return f(std::type_identity<PackedBytes>());
    case Packing::kFiveBits:
      return f(std::type_identity<PackedFiveBits>());
    default:
      LOCKSTEP_CHECK(false && "a packing of blocks");
  }
}

struct PanelRows {
  const std::byte* first;  // row 0 of the panel
  int64_t row_bytes;
  int rows;  // that exist
  int64_t inputs;
};

template <class Block>
void pack_blocks(DType dtype, const PanelRows& from, std::byte* panel) {
  auto* blocks = reinterpret_cast<Block*>(panel);
  for (int64_t group = 0; group * kGroupSize < from.inputs; ++group) {
    for (int n = 0; n < from.rows; ++n) {
      put(blocks[group / kGroupsABlock<Block>], group, n,
          unpack_group(dtype, from.first + n * from.row_bytes, group));
    }
  }
}

template <class Block>
void read_blocks(const std::byte* panel, int output, int64_t inputs, float* values) {
  const auto* blocks = reinterpret_cast<const Block*>(panel);
  for (int64_t group = 0; group * kGroupSize < inputs; ++group) {
    QuantGroup g;
    get(blocks[group / kGroupsABlock<Block>], group, output, g);
    group_values(g, values + group * kGroupSize);
  }
}

// ---- Plain packings. A piece of K of all rows is widened, then turned over into the panel: 32 KB
// at a time, so that the turning stays in the nearest caches.

constexpr int64_t kPiece = 256;  // whole blocks of every type

// Elements of a row as the packing stores them: the file's own bits where the types agree.
void store_elements(Packing, DType dtype, const std::byte* bytes, std::span<float> to) {
  dequantise(dtype, bytes, to);
}

void store_elements(Packing packing, DType dtype, const std::byte* bytes, std::span<uint16_t> to) {
  if (dtype == (packing == Packing::kF16 ? DType::kF16 : DType::kBF16)) {
    std::memcpy(to.data(), bytes, to.size_bytes());
    return;
  }
  float values[kPiece];
  dequantise(dtype, bytes, std::span(values, to.size()));
  for (size_t i = 0; i < to.size(); ++i) to[i] = bf16_from_f32(values[i]);
}

// Where element k of an output lies in a panel.
int64_t plain_index(Packing packing, int64_t k, int output) {
  const bool pairs = packing == Packing::kBF16 || packing == Packing::kBF16Wide;
  return pairs ? (k / 2 * kPanelOutputs + output) * 2 + k % 2 : k * kPanelOutputs + output;
}

template <class Element>
void pack_plain(Packing packing, DType dtype, const PanelRows& from, std::byte* panel) {
  const DTypeInfo& info = dtype_info(dtype);
  auto* to = reinterpret_cast<Element*>(panel);
  Element piece[kPanelOutputs][kPiece];
  for (int64_t k = 0; k < from.inputs; k += kPiece) {
    const int64_t elements = std::min(kPiece, from.inputs - k);
    const std::byte* bytes = from.first + k / info.block_elements * info.block_bytes;
    for (int n = 0; n < from.rows; ++n) {
      store_elements(packing, dtype, bytes + n * from.row_bytes,
                     std::span(piece[n], static_cast<size_t>(elements)));
    }
    for (int64_t i = 0; i < elements; ++i) {
      for (int n = 0; n < from.rows; ++n) to[plain_index(packing, k + i, n)] = piece[n][i];
    }
  }
}

float get_plain(Packing packing, const std::byte* panel, int64_t k, int output) {
  const int64_t at = plain_index(packing, k, output);
  if (packing == Packing::kF32) return reinterpret_cast<const float*>(panel)[at];
  const uint16_t half = reinterpret_cast<const uint16_t*>(panel)[at];
  return packing == Packing::kF16 ? f32_from_f16(half) : f32_from_bf16(half);
}

}  // namespace

Packing packing_for(Arithmetic arithmetic, const TensorView& weight) {
  switch (linear_rule(arithmetic, weight)) {
    case LinearRule::kBF16:
      return Packing::kBF16;
    case LinearRule::kF32:
      if (weight.dtype == DType::kBF16) return Packing::kBF16Wide;
      return weight.dtype == DType::kF16 ? Packing::kF16 : Packing::kF32;
    case LinearRule::kInt8:
      break;
  }
  switch (weight.dtype) {
    case DType::kQ8_0:
    case DType::kQ5_0:
    case DType::kIQ4_NL:
      return Packing::kQ8_0;
    case DType::kQ4_0:
      return Packing::kQ4_0;
    case DType::kQ4_1:
      return Packing::kQ4_1;
    case DType::kQ4_K:
      return Packing::kQ4_K;
    case DType::kQ6_K:
    case DType::kQ3_K:
      return Packing::kQ6_K;
    case DType::kQ2_K:
      return Packing::kQ2_K;
    case DType::kIQ4_XS:
    case DType::kMXFP4:
      return Packing::kBytes;
    case DType::kQ5_1:
    case DType::kQ5_K:
      return Packing::kFiveBits;
    default:
      LOCKSTEP_CHECK(false && "a quantised type");
  }
}

ActivationKind activation_kind(Packing packing) {
  switch (packing) {
    case Packing::kF32:
    case Packing::kF16:
    case Packing::kBF16Wide:
      return ActivationKind::kF32;
    case Packing::kBF16:
      return ActivationKind::kBF16;
    default:
      return ActivationKind::kInt8;
  }
}

int64_t panel_bytes(Packing packing, int64_t inputs) {
  switch (packing) {
    case Packing::kF32:
      return inputs * kPanelOutputs * 4;
    case Packing::kF16:
      return inputs * kPanelOutputs * 2;
    case Packing::kBF16Wide:
    case Packing::kBF16:
      return (inputs + 1) / 2 * kPanelOutputs * 4;
    default:
      break;
  }
  int64_t bytes = 0;
  with_block_type(packing, [&]<class Block>(std::type_identity<Block>) {
    bytes = inputs / (kGroupsABlock<Block> * kGroupSize) * static_cast<int64_t>(sizeof(Block));
  });
  return bytes;
}

void pack_panel(Packing packing, const TensorView& weight, int64_t first, std::byte* panel) {
  const int64_t outputs = weight.shape[0];
  const int64_t row_bytes = static_cast<int64_t>(weight.bytes.size()) / outputs;
  const PanelRows from = {
      .first = weight.bytes.data() + first * row_bytes,
      .row_bytes = row_bytes,
      .rows = static_cast<int>(std::min<int64_t>(kPanelOutputs, outputs - first)),
      .inputs = weight.shape[1],
  };
  if (activation_kind(packing) != ActivationKind::kInt8) {
    if (packing == Packing::kF32) return pack_plain<float>(packing, weight.dtype, from, panel);
    return pack_plain<uint16_t>(packing, weight.dtype, from, panel);
  }
  with_block_type(packing, [&]<class Block>(std::type_identity<Block>) {
    pack_blocks<Block>(weight.dtype, from, panel);
  });
}

void read_panel_row(Packing packing, const std::byte* panel, int output, int64_t inputs,
                    float* values) {
  if (activation_kind(packing) != ActivationKind::kInt8) {
    for (int64_t k = 0; k < inputs; ++k) values[k] = get_plain(packing, panel, k, output);
    return;
  }
  with_block_type(packing, [&]<class Block>(std::type_identity<Block>) {
    read_blocks<Block>(panel, output, inputs, values);
  });
}

}  // namespace lockstep::device::cpu
