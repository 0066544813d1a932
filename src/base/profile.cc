#include "base/profile.h"

#include <array>

namespace lockstep {
namespace {

struct ArithmeticRow {
  Arithmetic arithmetic;
  std::string_view name;
  KvType kv;
};
constexpr std::array<ArithmeticRow, 3> kArithmetics = {{
    {Arithmetic::kF32, "cpu-f32-1", KvType::kF32},
    {Arithmetic::kBF16, "cpu-bf16-1", KvType::kBF16},
    {Arithmetic::kInt8, "cpu-int8-1", KvType::kBF16},
}};

struct KvRow {
  KvType type;
  std::string_view name;
  int bytes;
};
constexpr std::array<KvRow, 3> kKvTypes = {{
    {KvType::kF32, "f32", 4},
    {KvType::kF16, "f16", 2},
    {KvType::kBF16, "bf16", 2},
}};

const KvRow& row_of(KvType type) { return kKvTypes[static_cast<size_t>(type)]; }
const ArithmeticRow& row_of(Arithmetic a) { return kArithmetics[static_cast<size_t>(a)]; }

}  // namespace

std::string Profile::name() const {
  std::string out(row_of(arithmetic).name);
  if (kv != default_kv(arithmetic)) out += fmt::format("+kv-{}", kv_type_name(kv));
  return out;
}

KvType Profile::default_kv(Arithmetic arithmetic) { return row_of(arithmetic).kv; }

int kv_bytes(KvType type) { return row_of(type).bytes; }
std::string_view kv_type_name(KvType type) { return row_of(type).name; }

StatusOr<Arithmetic> parse_arithmetic(std::string_view name) {
  for (const ArithmeticRow& row : kArithmetics) {
    if (row.name == name) return row.arithmetic;
  }
  return invalid_argument("unknown profile '{}'; allowed: cpu-f32-1, cpu-bf16-1, cpu-int8-1", name);
}

StatusOr<KvType> parse_kv_type(std::string_view name) {
  for (const KvRow& row : kKvTypes) {
    if (row.name == name) return row.type;
  }
  return invalid_argument("unknown K/V type '{}'; allowed: f32, f16, bf16", name);
}

}  // namespace lockstep
