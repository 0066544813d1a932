#include "base/dtype.h"

#include <gtest/gtest.h>

#include <string>

namespace lockstep {
namespace {

struct Expected {
  DType dtype;
  std::string_view name;
  int block_elements;
  int block_bytes;
};

// Written out from the two formats' documents, not from the table under test.
constexpr Expected kExpected[] = {
    {DType::kBool, "BOOL", 1, 1},
    {DType::kU8, "U8", 1, 1},
    {DType::kI8, "I8", 1, 1},
    {DType::kU16, "U16", 1, 2},
    {DType::kI16, "I16", 1, 2},
    {DType::kU32, "U32", 1, 4},
    {DType::kI32, "I32", 1, 4},
    {DType::kU64, "U64", 1, 8},
    {DType::kI64, "I64", 1, 8},
    {DType::kF8E4M3, "F8_E4M3", 1, 1},
    {DType::kF8E5M2, "F8_E5M2", 1, 1},
    {DType::kBF16, "BF16", 1, 2},
    {DType::kF16, "F16", 1, 2},
    {DType::kF32, "F32", 1, 4},
    {DType::kF64, "F64", 1, 8},
    {DType::kQ4_0, "Q4_0", 32, 2 + 16},             // scale, 32 nibbles
    {DType::kQ4_1, "Q4_1", 32, 2 + 2 + 16},         // scale, minimum, 32 nibbles
    {DType::kQ5_0, "Q5_0", 32, 2 + 4 + 16},         // scale, 32 high bits, 32 nibbles
    {DType::kQ5_1, "Q5_1", 32, 2 + 2 + 4 + 16},     // scale, minimum, high bits, nibbles
    {DType::kQ8_0, "Q8_0", 32, 2 + 32},             // scale, 32 bytes
    {DType::kQ2_K, "Q2_K", 256, 16 + 64 + 2 + 2},   // 16 scales and minimums, pairs, two scales
    {DType::kQ3_K, "Q3_K", 256, 32 + 64 + 12 + 2},  // high bits, pairs, 16 of 6 bits, scale
    {DType::kQ4_K, "Q4_K", 256, 2 + 2 + 12 + 128},  // two scales, 16 of 6 bits, 256 nibbles
    {DType::kQ5_K, "Q5_K", 256, 2 + 2 + 12 + 32 + 128},  // the same and 256 high bits
    {DType::kQ6_K, "Q6_K", 256, 128 + 64 + 16 + 2},      // low nibbles, high pairs, scales, scale
    {DType::kIQ4_NL, "IQ4_NL", 32, 2 + 16},              // scale, 32 nibbles
    {DType::kIQ4_XS, "IQ4_XS", 256, 2 + 2 + 4 + 128},    // scale, 8 of 6 bits, 256 nibbles
    {DType::kMXFP4, "MXFP4", 32, 1 + 16},                // exponent, 32 nibbles
};

TEST(DType, EverySizeIsAsTheFormatsSay) {
  for (const Expected& e : kExpected) {
    SCOPED_TRACE(std::string(e.name));
    const DTypeInfo& info = dtype_info(e.dtype);
    EXPECT_EQ(info.dtype, e.dtype);
    EXPECT_EQ(info.name, e.name);
    EXPECT_EQ(info.block_elements, e.block_elements);
    EXPECT_EQ(info.block_bytes, e.block_bytes);
    EXPECT_EQ(info.quantised(), e.block_elements > 1);
    EXPECT_EQ(dtype_bytes(e.dtype, 256), 256u / e.block_elements * e.block_bytes);
  }
}

TEST(DType, SafetensorsNamesArePlainTypesInTheirExactSpelling) {
  for (const Expected& e : kExpected) {
    const auto found = dtype_from_safetensors(e.name);
    if (e.block_elements > 1) {
      EXPECT_FALSE(found) << e.name;
    } else {
      EXPECT_EQ(found, e.dtype) << e.name;
    }
  }
  for (const char* name : {"", "bf16", "BF16 ", "F128", "float32", "F8_E8M0"}) {
    EXPECT_FALSE(dtype_from_safetensors(name)) << name;
  }
}

TEST(DType, GgmlNumbers) {
  EXPECT_EQ(dtype_from_ggml(0), DType::kF32);
  EXPECT_EQ(dtype_from_ggml(1), DType::kF16);
  EXPECT_EQ(dtype_from_ggml(2), DType::kQ4_0);
  EXPECT_EQ(dtype_from_ggml(3), DType::kQ4_1);
  EXPECT_EQ(dtype_from_ggml(6), DType::kQ5_0);
  EXPECT_EQ(dtype_from_ggml(7), DType::kQ5_1);
  EXPECT_EQ(dtype_from_ggml(8), DType::kQ8_0);
  EXPECT_EQ(dtype_from_ggml(10), DType::kQ2_K);
  EXPECT_EQ(dtype_from_ggml(11), DType::kQ3_K);
  EXPECT_EQ(dtype_from_ggml(12), DType::kQ4_K);
  EXPECT_EQ(dtype_from_ggml(13), DType::kQ5_K);
  EXPECT_EQ(dtype_from_ggml(14), DType::kQ6_K);
  EXPECT_EQ(dtype_from_ggml(20), DType::kIQ4_NL);
  EXPECT_EQ(dtype_from_ggml(23), DType::kIQ4_XS);
  EXPECT_EQ(dtype_from_ggml(30), DType::kBF16);
  EXPECT_EQ(dtype_from_ggml(39), DType::kMXFP4);
}

TEST(DType, GgmlTypesThatDoNotRunStillHaveNames) {
  struct Refused {
    uint32_t number;
    std::string_view name;
  };
  for (const Refused& r : {Refused{9, "Q8_1"},
                           {15, "Q8_K"},
                           {16, "IQ2_XXS"},
                           {17, "IQ2_XS"},
                           {18, "IQ3_XXS"},
                           {19, "IQ1_S"},
                           {21, "IQ3_S"},
                           {22, "IQ2_S"},
                           {29, "IQ1_M"},
                           {34, "TQ1_0"},
                           {35, "TQ2_0"},
                           {40, "NVFP4"},
                           {41, "Q1_0"}}) {
    EXPECT_FALSE(dtype_from_ggml(r.number)) << r.name;
    EXPECT_EQ(ggml_type_name(r.number), r.name);
  }
}

TEST(DType, UnknownGgmlNumbersHaveNoTypeAndNoName) {
  for (const uint32_t number : {4u, 5u, 31u, 1000u, UINT32_MAX}) {  // 4, 5: removed types
    EXPECT_FALSE(dtype_from_ggml(number)) << number;
    EXPECT_EQ(ggml_type_name(number), "") << number;
  }
}

TEST(DType, EveryRunnableGgmlNumberHasItsTypesName) {
  for (uint32_t number = 0; number < 64; ++number) {
    if (const auto dtype = dtype_from_ggml(number)) {
      EXPECT_EQ(ggml_type_name(number), dtype_name(*dtype)) << number;
    }
  }
}

TEST(DType, BytesRefusesPartBlocksAndOverflow) {
  EXPECT_EQ(dtype_bytes(DType::kQ4_0, 0), 0u);
  EXPECT_EQ(dtype_bytes(DType::kQ4_0, 31), std::nullopt);
  EXPECT_EQ(dtype_bytes(DType::kQ4_K, 255), std::nullopt);
  EXPECT_EQ(dtype_bytes(DType::kF32, uint64_t{1} << 62), std::nullopt);
  EXPECT_EQ(dtype_bytes(DType::kU8, UINT64_MAX), UINT64_MAX);
}

}  // namespace
}  // namespace lockstep
