// The named arithmetic. Name and version travel in manifests, states and handshakes; the slice,
// chunk, exp and the set of K/V types belong to the version (docs/numerics.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/dtype.h"
#include "base/status.h"

namespace lockstep {

enum class Arithmetic : uint8_t {
  kF32,   // cpu-f32-1: f32 activations, weights widened exactly (block types dequantised)
  kBF16,  // cpu-bf16-1: weights in bf16, activations rounded to bf16 before each matrix, f32
          // between
  kInt8,  // cpu-int8-1: block types times int8 activations; plain tensors as their own type asks
};

enum class KvType : uint8_t { kF32, kF16, kBF16 };

struct Profile {
  Arithmetic arithmetic = Arithmetic::kF32;
  KvType kv = KvType::kF32;

  // "cpu-bf16-1"; with "+kv-f32" where the K/V type is not the profile's own.
  std::string name() const;

  static KvType default_kv(Arithmetic arithmetic);
};

int kv_bytes(KvType type);  // bytes an element
std::string_view kv_type_name(KvType type);

// By the command line's spelling; the error lists what is allowed.
StatusOr<Arithmetic> parse_arithmetic(std::string_view name);
StatusOr<KvType> parse_kv_type(std::string_view name);

}  // namespace lockstep
