// Against the numpy reference of the PyPI package `gguf`: tests/data/block_values.txt, written by
// scripts/make_block_expectations.py.
#include "device/quant_blocks.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/mapped_file.h"
#include "base/rng.h"
#include "base/thread_pool.h"

namespace lockstep::device {
namespace {

constexpr int kBlocks = 1000;

// As the script makes them.
std::vector<std::byte> make_blocks(const DTypeInfo& info) {
  constexpr uint16_t kWords[] = {0x0000, 0x8000, 0x0001, 0x83ff, 0x0400, 0x7bff,
                                 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xffff, 0x3c00};
  const auto block_bytes = static_cast<size_t>(info.block_bytes);
  std::vector<std::byte> all;
  CounterRng rng(block_bytes);
  for (int i = 0; i < kBlocks; ++i) {
    std::vector<std::byte> block(block_bytes, static_cast<std::byte>(i));
    for (size_t at = 0; i >= 256 && at < block_bytes; at += 2) {
      const auto word = static_cast<uint16_t>(i % 2 == 1 ? kWords[rng.below(std::size(kWords))]
                                                         : rng.below(1 << 16));
      std::memcpy(&block[at], &word, std::min<size_t>(2, block_bytes - at));
    }
    all.insert(all.end(), block.begin(), block.end());
  }
  return all;
}

std::string digest_of(std::vector<float> values) {
  for (float& value : values) {
    if (value != value) value = std::bit_cast<float>(0x7fc00000u);
  }
  return hex(Sha256::of(std::as_bytes(std::span(values))));
}

std::map<std::string, std::string> expected_digests() {
  const auto text = read_file("tests/data/block_values.txt", 1 << 16);
  EXPECT_TRUE(text.ok()) << text.status();
  std::istringstream lines(text.value_or(""));
  std::map<std::string, std::string> digests;
  for (std::string name, digest; lines >> name >> digest;) digests[name] = digest;
  return digests;
}

TEST(QuantBlocks, EveryTypesValuesAreThoseOfGguf) {
  const auto expected = expected_digests();
  size_t types = 0;
  for (uint32_t number = 0; number < 256; ++number) {
    const auto dtype = dtype_from_ggml(number);
    if (!dtype || !dtype_info(*dtype).quantised()) continue;
    const DTypeInfo& info = dtype_info(*dtype);
    std::vector<float> values(static_cast<size_t>(kBlocks * info.block_elements));
    dequantise(*dtype, make_blocks(info).data(), values);
    const auto found = expected.find(std::string(info.name));
    ASSERT_NE(found, expected.end()) << info.name;
    EXPECT_EQ(digest_of(values), found->second) << info.name;
    ++types;
  }
  EXPECT_EQ(types, expected.size());
}

// The value of code 1: the scale.
float mxfp4_scale(uint8_t exponent) {
  std::vector<std::byte> block(17, static_cast<std::byte>(0x11));
  block[0] = static_cast<std::byte>(exponent);
  std::vector<float> values(kGroupSize);
  dequantise(DType::kMXFP4, block.data(), values);
  return values[0];
}

TEST(QuantBlocks, Mxfp4ScalesAreHalvesOfE8m0) {
  EXPECT_EQ(mxfp4_scale(0), 0x1p-128f);
  EXPECT_EQ(mxfp4_scale(1), 0x1p-127f);
  EXPECT_EQ(mxfp4_scale(2), 0x1p-126f);
  EXPECT_EQ(mxfp4_scale(128), 1.0f);
  EXPECT_EQ(mxfp4_scale(254), 0x1p126f);
  EXPECT_EQ(mxfp4_scale(255), 0x1p127f);  // NaN in OCP's standard, a number in `gguf`
}

TEST(QuantBlocks, DenormalMxfp4ScalesAreZeroWhereComputed) {
  const ComputeScope scope;
  EXPECT_EQ(mxfp4_scale(0), 0.0f);
  EXPECT_EQ(mxfp4_scale(1), 0.0f);
  EXPECT_EQ(mxfp4_scale(2), 0x1p-126f);
}

}  // namespace
}  // namespace lockstep::device
