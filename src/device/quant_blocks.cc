#include "device/quant_blocks.h"

#include <cstring>

#include "base/float16.h"
#include "base/status.h"

namespace lockstep::device {
namespace {

uint8_t byte_at(const std::byte* p, int64_t i) { return std::to_integer<uint8_t>(p[i]); }

uint16_t u16_at(const std::byte* p, int64_t i) {
  return static_cast<uint16_t>(byte_at(p, i) | (byte_at(p, i + 1) << 8));
}

// 16 bytes: low nibbles are elements 0..15, high nibbles 16..31.
void split_nibbles(const std::byte* qs, int offset, QuantGroup& g) {
  for (int i = 0; i < 16; ++i) {
    const uint8_t b = byte_at(qs, i);
    g.codes[static_cast<size_t>(i)] = static_cast<int8_t>((b & 15) - offset);
    g.codes[static_cast<size_t>(i) + 16] = static_cast<int8_t>((b >> 4) - offset);
  }
}

// The 6-bit scale and minimum of sub-block j, packed in 12 bytes.
void unpack_q4k_scales(const std::byte* packed, int64_t j, QuantGroup& g) {
  uint8_t sc;
  if (j < 4) {
    sc = byte_at(packed, j) & 63;
    g.mn = byte_at(packed, j + 4) & 63;
  } else {
    sc = static_cast<uint8_t>((byte_at(packed, j + 4) & 15) | ((byte_at(packed, j - 4) >> 6) << 4));
    g.mn = static_cast<uint8_t>((byte_at(packed, j + 4) >> 4) | ((byte_at(packed, j) >> 6) << 4));
  }
  g.sc = {static_cast<int8_t>(sc), static_cast<int8_t>(sc)};
}

void unpack_q4k(const std::byte* block, int64_t sub, QuantGroup& g) {
  g.d = u16_at(block, 0);
  g.m = u16_at(block, 2);
  unpack_q4k_scales(block + 4, sub, g);
  const std::byte* qs = block + 16 + 32 * (sub / 2);
  for (int i = 0; i < 32; ++i) {
    const uint8_t b = byte_at(qs, i);
    g.codes[static_cast<size_t>(i)] = static_cast<int8_t>(sub % 2 == 0 ? b & 15 : b >> 4);
  }
}

// 210 bytes: 128 of low nibbles, 64 of high bit pairs, 16 int8 scales, d. Each half of 128 elements
// has four groups of 32 that share bytes: group q takes nibble q / 2 and bit pair q.
void unpack_q6k(const std::byte* block, int64_t sub, QuantGroup& g) {
  const int64_t half = sub / 4;
  const int64_t q = sub % 4;
  const std::byte* low = block + 64 * half + 32 * (q % 2);
  const std::byte* high = block + 128 + 32 * half;
  for (int i = 0; i < 32; ++i) {
    const int nibble = q < 2 ? byte_at(low, i) & 15 : byte_at(low, i) >> 4;
    const int pair = (byte_at(high, i) >> (2 * q)) & 3;
    g.codes[static_cast<size_t>(i)] = static_cast<int8_t>((nibble | (pair << 4)) - 32);
  }
  const std::byte* scales = block + 192 + 8 * half + 2 * q;
  g.sc = {static_cast<int8_t>(byte_at(scales, 0)), static_cast<int8_t>(byte_at(scales, 1))};
  g.d = u16_at(block, 208);
}

}  // namespace

QuantGroup unpack_group(DType dtype, const std::byte* row, int64_t group) {
  const DTypeInfo& info = dtype_info(dtype);
  const int64_t groups_a_block = info.block_elements / kGroupSize;
  const std::byte* block = row + group / groups_a_block * info.block_bytes;
  const int64_t sub = group % groups_a_block;
  QuantGroup g;
  switch (dtype) {
    case DType::kQ4_0:
      g.d = u16_at(block, 0);
      split_nibbles(block + 2, 8, g);
      break;
    case DType::kQ4_1:
      g.d = u16_at(block, 0);
      g.m = u16_at(block, 2);
      split_nibbles(block + 4, 0, g);
      break;
    case DType::kQ8_0:
      g.d = u16_at(block, 0);
      std::memcpy(g.codes.data(), block + 2, kGroupSize);
      break;
    case DType::kQ4_K:
      unpack_q4k(block, sub, g);
      break;
    case DType::kQ6_K:
      unpack_q6k(block, sub, g);
      break;
    default:
      LOCKSTEP_CHECK(false && "a quantised type");
  }
  return g;
}

float group_value(DType dtype, const QuantGroup& g, int i) {
  const float d = f32_from_f16(g.d);
  const auto code = static_cast<float>(g.codes[static_cast<size_t>(i)]);
  switch (dtype) {
    case DType::kQ4_1:
      return d * code + f32_from_f16(g.m);
    case DType::kQ4_K:
      return (d * static_cast<float>(g.sc[0])) * code -
             f32_from_f16(g.m) * static_cast<float>(g.mn);
    case DType::kQ6_K:
      return (d * static_cast<float>(g.sc[static_cast<size_t>(i / 16)])) * code;
    default:
      return d * code;
  }
}

void dequantise(DType dtype, const std::byte* bytes, std::span<float> values) {
  const auto n = static_cast<int64_t>(values.size());
  if (dtype_info(dtype).quantised()) {
    for (int64_t group = 0; group * kGroupSize < n; ++group) {
      const QuantGroup g = unpack_group(dtype, bytes, group);
      for (int i = 0; i < kGroupSize; ++i) {
        values[static_cast<size_t>(group * kGroupSize + i)] = group_value(dtype, g, i);
      }
    }
    return;
  }
  switch (dtype) {
    case DType::kF32:
      std::memcpy(values.data(), bytes, values.size_bytes());
      return;
    case DType::kF16:
      for (int64_t i = 0; i < n; ++i)
        values[static_cast<size_t>(i)] = f32_from_f16(u16_at(bytes, 2 * i));
      return;
    case DType::kBF16:
      for (int64_t i = 0; i < n; ++i)
        values[static_cast<size_t>(i)] = f32_from_bf16(u16_at(bytes, 2 * i));
      return;
    default:
      LOCKSTEP_CHECK(false && "a matrix type");
  }
}

bool is_matrix_type(DType dtype) {
  return dtype_info(dtype).quantised() || dtype == DType::kF32 || dtype == DType::kF16 ||
         dtype == DType::kBF16;
}

}  // namespace lockstep::device
