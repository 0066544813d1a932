#include "base/dtype.h"

#include <array>

#include "base/checked.h"

namespace lockstep {
namespace {

constexpr std::array<DTypeInfo, 28> kTable = {{
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
    {DType::kQ4_0, "Q4_0", 32, 18},
    {DType::kQ4_1, "Q4_1", 32, 20},
    {DType::kQ5_0, "Q5_0", 32, 22},
    {DType::kQ5_1, "Q5_1", 32, 24},
    {DType::kQ8_0, "Q8_0", 32, 34},
    {DType::kQ2_K, "Q2_K", 256, 84},
    {DType::kQ3_K, "Q3_K", 256, 110},
    {DType::kQ4_K, "Q4_K", 256, 144},
    {DType::kQ5_K, "Q5_K", 256, 176},
    {DType::kQ6_K, "Q6_K", 256, 210},
    {DType::kIQ4_NL, "IQ4_NL", 32, 18},
    {DType::kIQ4_XS, "IQ4_XS", 256, 136},
    {DType::kMXFP4, "MXFP4", 32, 17},
}};

constexpr bool table_is_in_enum_order() {
  for (size_t i = 0; i < kTable.size(); ++i) {
    if (static_cast<size_t>(kTable[i].dtype) != i) return false;
  }
  return true;
}
static_assert(table_is_in_enum_order());

struct GgmlType {
  uint32_t number;
  std::string_view name;
  std::optional<DType> dtype;  // empty: known to the format, not to this program
};

constexpr GgmlType kGgml[] = {
    {0, "F32", DType::kF32},
    {1, "F16", DType::kF16},
    {2, "Q4_0", DType::kQ4_0},
    {3, "Q4_1", DType::kQ4_1},
    {6, "Q5_0", DType::kQ5_0},
    {7, "Q5_1", DType::kQ5_1},
    {8, "Q8_0", DType::kQ8_0},
    {9, "Q8_1", {}},
    {10, "Q2_K", DType::kQ2_K},
    {11, "Q3_K", DType::kQ3_K},
    {12, "Q4_K", DType::kQ4_K},
    {13, "Q5_K", DType::kQ5_K},
    {14, "Q6_K", DType::kQ6_K},
    {15, "Q8_K", {}},
    {16, "IQ2_XXS", {}},
    {17, "IQ2_XS", {}},
    {18, "IQ3_XXS", {}},
    {19, "IQ1_S", {}},
    {20, "IQ4_NL", DType::kIQ4_NL},
    {21, "IQ3_S", {}},
    {22, "IQ2_S", {}},
    {23, "IQ4_XS", DType::kIQ4_XS},
    {24, "I8", DType::kI8},
    {25, "I16", DType::kI16},
    {26, "I32", DType::kI32},
    {27, "I64", DType::kI64},
    {28, "F64", DType::kF64},
    {29, "IQ1_M", {}},
    {30, "BF16", DType::kBF16},
    {34, "TQ1_0", {}},
    {35, "TQ2_0", {}},
    {39, "MXFP4", DType::kMXFP4},
    {40, "NVFP4", {}},
    {41, "Q1_0", {}},
};

}  // namespace

const DTypeInfo& dtype_info(DType dtype) { return kTable[static_cast<size_t>(dtype)]; }

std::optional<DType> dtype_from_safetensors(std::string_view name) {
  for (const DTypeInfo& info : kTable) {
    if (!info.quantised() && info.name == name) return info.dtype;
  }
  return std::nullopt;
}

std::optional<DType> dtype_from_ggml(uint32_t type) {
  for (const GgmlType& t : kGgml) {
    if (t.number == type) return t.dtype;
  }
  return std::nullopt;
}

std::string_view ggml_type_name(uint32_t type) {
  for (const GgmlType& t : kGgml) {
    if (t.number == type) return t.name;
  }
  return {};
}

std::optional<uint64_t> dtype_bytes(DType dtype, uint64_t elements) {
  const DTypeInfo& info = dtype_info(dtype);
  const auto block = static_cast<uint64_t>(info.block_elements);
  if (elements % block != 0) return std::nullopt;
  return checked_multiply(elements / block, static_cast<uint64_t>(info.block_bytes));
}

}  // namespace lockstep
