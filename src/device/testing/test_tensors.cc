#include "device/testing/test_tensors.h"

#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "base/float16.h"
#include "base/status.h"

namespace lockstep::device::contract {
namespace {

// In (-2, 2), 24 bits of mantissa.
float ordinary(CounterRng& rng) {
  return static_cast<float>(rng.between(-(1 << 24) + 1, (1 << 24) - 1)) * 0x1p-23f;
}

// A positive f16 scale near 1/64.
uint16_t scale_bits(CounterRng& rng) { return static_cast<uint16_t>(0x2000 + rng.below(0x0800)); }

template <class T>
void append(std::vector<std::byte>& bytes, T value) {
  const size_t at = bytes.size();
  bytes.resize(at + sizeof value);
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

void append_plain(DType dtype, CounterRng& rng, std::vector<std::byte>& bytes) {
  const float x = ordinary(rng);
  switch (dtype) {
    case DType::kF32:
      return append(bytes, x);
    case DType::kF16:
      return append(bytes, f16_from_f32(x));
    case DType::kBF16:
      return append(bytes, bf16_from_f32(x));
    default:
      LOCKSTEP_CHECK(false && "a plain type of a matrix");
  }
}

void append_block(DType dtype, CounterRng& rng, std::vector<std::byte>& bytes) {
  const size_t at = bytes.size();
  for (int i = 0; i < dtype_info(dtype).block_bytes; ++i) {
    append(bytes, static_cast<uint8_t>(rng.below(256)));
  }
  for (int offset : f16_offsets(dtype)) {
    const uint16_t scale = scale_bits(rng);
    std::memcpy(bytes.data() + at + offset, &scale, sizeof scale);
  }
  if (dtype == DType::kMXFP4) bytes[at] = static_cast<std::byte>(122 + rng.below(4));
}

float hostile(int kind, int column) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kLargest = std::numeric_limits<float>::max();
  switch (kind % 6) {
    case 0:
      return kNan;
    case 1:
      return column == 0 ? kNan : 1.0f;
    case 2:
      return column % 2 == 0 ? kInfinity : -kInfinity;
    case 3:
      return column == 0 ? -kInfinity : 0.5f;
    case 4:
      return column % 3 == 0 ? kLargest : -kLargest;
    default:
      return std::bit_cast<float>(1u + static_cast<uint32_t>(column) % 0x7fffffu);
  }
}

}  // namespace

std::vector<int> f16_offsets(DType dtype) {
  switch (dtype) {
    case DType::kQ4_1:
    case DType::kQ5_1:
    case DType::kQ4_K:
    case DType::kQ5_K:
      return {0, 2};
    case DType::kQ2_K:
      return {80, 82};
    case DType::kQ3_K:
      return {108};
    case DType::kQ6_K:
      return {208};
    case DType::kMXFP4:
      return {};
    default:
      return {0};
  }
}

TestTensor random_tensor(DType dtype, int64_t outputs, int64_t inputs, CounterRng& rng) {
  TestTensor tensor = {dtype, inputs == 0 ? Shape{outputs} : Shape{outputs, inputs}, {}};
  const int64_t elements = inputs == 0 ? outputs : outputs * inputs;
  const int block = dtype_info(dtype).block_elements;
  for (int64_t i = 0; i < elements; i += block) {
    block == 1 ? append_plain(dtype, rng, tensor.bytes) : append_block(dtype, rng, tensor.bytes);
  }
  return tensor;
}

TestTensor activation_table(int rows, int width, int hostile_from, CounterRng& rng) {
  TestTensor table = {DType::kF32, {rows, width}, {}};
  for (int r = 0; r < rows; ++r) {
    const float magnitude = std::array{0x1p-6f, 0.125f, 1.0f, 1.0f, 4.0f}[rng.below(5)];
    for (int i = 0; i < width; ++i) {
      const float x = rng.below(16) == 0 ? 0.0f : ordinary(rng) * magnitude;
      append(table.bytes, r < hostile_from ? x : hostile(r - hostile_from, i));
    }
  }
  return table;
}

}  // namespace lockstep::device::contract
