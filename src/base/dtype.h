// The one table of element types: name, elements a block, bytes a block.
//
// A plain type has blocks of one element. Block-quantised types follow the layouts of ggml's
// public format description (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lockstep {

enum class DType : uint8_t {
  kBool,
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kU64,
  kI64,
  kF8E4M3,
  kF8E5M2,
  kBF16,
  kF16,
  kF32,
  kF64,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kIQ4_NL,
  kIQ4_XS,
  kMXFP4,
};

struct DTypeInfo {
  DType dtype;
  std::string_view name;  // as safetensors or ggml spells it: "BF16", "Q4_K"
  int block_elements;     // consecutive elements of a row that are stored together
  int block_bytes;
  bool quantised() const { return block_elements > 1; }
};

const DTypeInfo& dtype_info(DType dtype);
inline std::string_view dtype_name(DType dtype) { return dtype_info(dtype).name; }

// By a safetensors header's spelling; plain types only.
std::optional<DType> dtype_from_safetensors(std::string_view name);

// By a GGUF tensor's type number; empty for numbers this program cannot run. `ggml_type_name` names
// any number that the format defines, for error messages ("IQ2_XS"), and is empty otherwise.
std::optional<DType> dtype_from_ggml(uint32_t type);
std::string_view ggml_type_name(uint32_t type);

// Bytes of `elements` consecutive elements; empty if they are not whole blocks or do not fit.
std::optional<uint64_t> dtype_bytes(DType dtype, uint64_t elements);

}  // namespace lockstep
