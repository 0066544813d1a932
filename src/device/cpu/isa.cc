#include "device/cpu/isa.h"

#include <string>

namespace lockstep::device::cpu {
namespace {

// These ask for the system's support of the registers too, not for the CPU's alone.
bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("f16c");
}
bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
bool has_avx512_vnni() { return has_avx512() && __builtin_cpu_supports("avx512vnni"); }
bool has_avx512_bf16() {
  static const bool has = has_avx512_vnni() && __builtin_cpu_supports("avx512bf16") &&
                          dpbf16_is_two_fmas(PairOrder::kOddFirst);
  return has;
}

}  // namespace

std::vector<const Kernels*> runnable_kernels() {
  std::vector<const Kernels*> out = {&kKernels_scalar};
  if (has_avx2()) out.push_back(&kKernels_avx2);
  if (has_avx512()) out.push_back(&kKernels_avx512);
  if (has_avx512_vnni()) out.push_back(&kKernels_avx512_vnni);
  if (has_avx512_bf16()) out.push_back(&kKernels_avx512_bf16);
  return out;
}

StatusOr<const Kernels*> find_kernels(std::string_view isa) {
  const std::vector<const Kernels*> runnable = runnable_kernels();
  if (isa.empty()) return runnable.back();
  std::string names;
  for (const Kernels* kernels : runnable) {
    if (kernels->isa == isa) return kernels;
    names += names.empty() ? "" : ", ";
    names += kernels->isa;
  }
  return invalid_argument("instruction set '{}' is not one that this CPU can run: {}", isa, names);
}

}  // namespace lockstep::device::cpu
