#include "device/quant_blocks.h"

#include <bit>
#include <cstring>

#include "base/float16.h"
#include "base/status.h"

namespace lockstep::device {
namespace {

uint8_t byte_at(const std::byte* p, int64_t i) { return std::to_integer<uint8_t>(p[i]); }

uint16_t u16_at(const std::byte* p, int64_t i) {
  return static_cast<uint16_t>(byte_at(p, i) | (byte_at(p, i + 1) << 8));
}

float f16_at(const std::byte* p, int64_t i) { return f32_from_f16(u16_at(p, i)); }

// ---- Codes

// 16 bytes: low nibbles are elements 0..15, high nibbles 16..31.
void split_nibbles(const std::byte* qs, int offset, QuantGroup& g) {
  for (int i = 0; i < 16; ++i) {
    const uint8_t b = byte_at(qs, i);
    g.codes[static_cast<size_t>(i)] = static_cast<int8_t>((b & 15) - offset);
    g.codes[static_cast<size_t>(i) + 16] = static_cast<int8_t>((b >> 4) - offset);
  }
}

// 32 bytes, of which group `sub` takes `bits` bits each: bits 0 for sub 0, and so on upwards.
void take_bits(const std::byte* qs, int bits, int64_t sub, QuantGroup& g) {
  const int64_t shift = bits * sub;
  const int mask = (1 << bits) - 1;
  for (int i = 0; i < kGroupSize; ++i) {
    g.codes[static_cast<size_t>(i)] = static_cast<int8_t>((byte_at(qs, i) >> shift) & mask);
  }
}

// The same bits above what codes have: times `weight`, then less `offset`.
void add_bits(const std::byte* qs, int bits, int64_t sub, int weight, int offset, QuantGroup& g) {
  QuantGroup high;
  take_bits(qs, bits, sub, high);
  for (size_t i = 0; i < kGroupSize; ++i) {
    g.codes[i] = static_cast<int8_t>(g.codes[i] + weight * high.codes[i] - offset);
  }
}

// 4 bytes: bit i is the fifth bit of element i.
void add_fifth_bits(const std::byte* qh, int offset, QuantGroup& g) {
  for (int i = 0; i < kGroupSize; ++i) {
    const int bit = (byte_at(qh, i / 8) >> (i % 8)) & 1;
    int8_t& code = g.codes[static_cast<size_t>(i)];
    code = static_cast<int8_t>(code + 16 * bit - offset);
  }
}

using Codebook = std::array<int8_t, 16>;
constexpr Codebook kIq4 = {-127, -104, -83, -65, -49, -35, -22, -10,
                           1,    13,   25,  38,  53,  69,  89,  113};
// Twice the values of OCP's E2M1 (Microscaling Formats v1.0, 5.3.3).
constexpr Codebook kE2m1 = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

void look_up(const std::byte* qs, const Codebook& values, QuantGroup& g) {
  split_nibbles(qs, 0, g);
  for (int8_t& code : g.codes) code = values[static_cast<size_t>(code)];
}

// ---- Scales

// OCP's E8M0 exponent, halved since the codes are doubled: 2^(e - 128). 255, NaN there, is a number
// here, as in `gguf`; 0 and 1 give denormals.
float half_e8m0(uint8_t e) {
  return std::bit_cast<float>(e < 2 ? 0x00200000u << e : (e - 1u) << 23);
}

// Q4_K, Q5_K: the 6-bit scale and minimum of group j, packed in 12 bytes.
void unpack_scale_and_minimum(const std::byte* packed, int64_t j, QuantGroup& g) {
  int sc = byte_at(packed, j) & 63;
  int mn = byte_at(packed, j + 4) & 63;
  if (j >= 4) {
    sc = (byte_at(packed, j + 4) & 15) | ((byte_at(packed, j - 4) >> 6) << 4);
    mn = (byte_at(packed, j + 4) >> 4) | ((byte_at(packed, j) >> 6) << 4);
  }
  g.sc.fill(static_cast<int8_t>(sc));
  g.mn.fill(static_cast<int8_t>(mn));
}

// Q3_K: the 6-bit scale j of 16, packed in 12 bytes: 8 of low nibbles, 4 of high pairs.
int8_t q3k_scale(const std::byte* packed, int64_t j) {
  const int low = (byte_at(packed, j % 8) >> (j / 8 * 4)) & 15;
  const int high = (byte_at(packed, 8 + j % 4) >> (j / 4 * 2)) & 3;
  return static_cast<int8_t>((low | (high << 4)) - 32);
}

// ---- Superblocks of eight groups

// 16 bytes of scales (low nibbles) and minimums (high), 64 of pairs, d, dmin.
void unpack_q2k(const std::byte* block, int64_t sub, QuantGroup& g) {
  for (size_t half = 0; half < 2; ++half) {
    const uint8_t both = byte_at(block, 2 * sub + static_cast<int64_t>(half));
    g.sc[half] = static_cast<int8_t>(both & 15);
    g.mn[half] = static_cast<int8_t>(both >> 4);
  }
  take_bits(block + 16 + 32 * (sub / 4), 2, sub % 4, g);
  g.d = f16_at(block, 80);
  g.m = f16_at(block, 82);
}

// 32 bytes of third bits (set: 0, clear: -4), 64 of pairs, 12 of scales, d.
void unpack_q3k(const std::byte* block, int64_t sub, QuantGroup& g) {
  take_bits(block + 32 + 32 * (sub / 4), 2, sub % 4, g);
  add_bits(block, 1, sub, 4, 4, g);
  g.sc = {q3k_scale(block + 96, 2 * sub), q3k_scale(block + 96, 2 * sub + 1)};
  g.d = f16_at(block, 108);
}

// d, dmin, 12 bytes of scales, 128 of nibbles.
void unpack_q4k(const std::byte* block, int64_t sub, QuantGroup& g) {
  g.d = f16_at(block, 0);
  g.m = f16_at(block, 2);
  unpack_scale_and_minimum(block + 4, sub, g);
  take_bits(block + 16 + 32 * (sub / 2), 4, sub % 2, g);
}

// As Q4_K, with 32 bytes of fifth bits before the nibbles.
void unpack_q5k(const std::byte* block, int64_t sub, QuantGroup& g) {
  g.d = f16_at(block, 0);
  g.m = f16_at(block, 2);
  unpack_scale_and_minimum(block + 4, sub, g);
  take_bits(block + 48 + 32 * (sub / 2), 4, sub % 2, g);
  add_bits(block + 16, 1, sub, 16, 0, g);
}

// 128 bytes of low nibbles, 64 of high pairs, 16 int8 scales, d. Each half of 128 elements has four
// groups that share bytes: group q takes nibble q / 2 and pair q.
void unpack_q6k(const std::byte* block, int64_t sub, QuantGroup& g) {
  const int64_t half = sub / 4;
  const int64_t q = sub % 4;
  take_bits(block + 64 * half + 32 * (q % 2), 4, q / 2, g);
  add_bits(block + 128 + 32 * half, 2, q, 16, 32, g);
  std::memcpy(g.sc.data(), block + 192 + 2 * sub, 2);
  g.d = f16_at(block, 208);
}

// d, 2 bytes of high pairs and 4 of low nibbles of the scales, 128 of nibbles.
void unpack_iq4xs(const std::byte* block, int64_t sub, QuantGroup& g) {
  g.d = f16_at(block, 0);
  const int high = (u16_at(block, 2) >> (2 * sub)) & 3;
  const int low = (byte_at(block, 4 + sub / 2) >> (4 * (sub % 2))) & 15;
  g.sc.fill(static_cast<int8_t>((low | (high << 4)) - 32));
  look_up(block + 8 + 16 * sub, kIq4, g);
}

}  // namespace

GroupForm group_form(DType dtype) {
  switch (dtype) {
    case DType::kQ4_1:
    case DType::kQ5_1:
    case DType::kQ4_K:
    case DType::kQ5_K:
      return {.halves = false, .minimum = true};
    case DType::kQ3_K:
    case DType::kQ6_K:
      return {.halves = true, .minimum = false};
    case DType::kQ2_K:
      return {.halves = true, .minimum = true};
    default:
      return {.halves = false, .minimum = false};
  }
}

QuantGroup unpack_group(DType dtype, const std::byte* row, int64_t group) {
  const DTypeInfo& info = dtype_info(dtype);
  const int64_t groups_a_block = info.block_elements / kGroupSize;
  const std::byte* block = row + group / groups_a_block * info.block_bytes;
  const int64_t sub = group % groups_a_block;
  QuantGroup g;
  switch (dtype) {
    case DType::kQ4_0:
      g.d = f16_at(block, 0);
      split_nibbles(block + 2, 8, g);
      break;
    case DType::kQ4_1:
      g.d = f16_at(block, 0);
      g.m = f16_at(block, 2);
      g.mn = {-1, -1};
      split_nibbles(block + 4, 0, g);
      break;
    case DType::kQ5_0:
      g.d = f16_at(block, 0);
      split_nibbles(block + 6, 0, g);
      add_fifth_bits(block + 2, 16, g);
      break;
    case DType::kQ5_1:
      g.d = f16_at(block, 0);
      g.m = f16_at(block, 2);
      g.mn = {-1, -1};
      split_nibbles(block + 8, 0, g);
      add_fifth_bits(block + 4, 0, g);
      break;
    case DType::kQ8_0:
      g.d = f16_at(block, 0);
      std::memcpy(g.codes.data(), block + 2, kGroupSize);
      break;
    case DType::kQ2_K:
      unpack_q2k(block, sub, g);
      break;
    case DType::kQ3_K:
      unpack_q3k(block, sub, g);
      break;
    case DType::kQ4_K:
      unpack_q4k(block, sub, g);
      break;
    case DType::kQ5_K:
      unpack_q5k(block, sub, g);
      break;
    case DType::kQ6_K:
      unpack_q6k(block, sub, g);
      break;
    case DType::kIQ4_NL:
      g.d = f16_at(block, 0);
      look_up(block + 2, kIq4, g);
      break;
    case DType::kIQ4_XS:
      unpack_iq4xs(block, sub, g);
      break;
    case DType::kMXFP4:
      g.d = half_e8m0(byte_at(block, 0));
      look_up(block + 1, kE2m1, g);
      break;
    default:
      LOCKSTEP_CHECK(false && "a quantised type");
  }
  return g;
}

void group_values(const QuantGroup& group, float* values) {
  for (size_t half = 0; half < 2; ++half) {
    const float scale = group.d * static_cast<float>(group.sc[half]);
    const float minimum = group.m * static_cast<float>(group.mn[half]);
    for (size_t i = 16 * half; i < 16 * (half + 1); ++i) {
      values[i] = scale * static_cast<float>(group.codes[i]) - minimum;
    }
  }
}

void dequantise(DType dtype, const std::byte* bytes, std::span<float> values) {
  const auto n = static_cast<int64_t>(values.size());
  if (dtype_info(dtype).quantised()) {
    for (int64_t group = 0; group * kGroupSize < n; ++group) {
      group_values(unpack_group(dtype, bytes, group), values.data() + group * kGroupSize);
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
