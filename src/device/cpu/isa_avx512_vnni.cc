#include "device/cpu/kernels.h"
#include "device/cpu/linear-inl.h"

namespace lockstep::device::cpu {

constinit const Kernels kKernels_avx512_vnni = {
    .isa = "avx512_vnni",
    .linear = make_linear_kernels(),
};

}  // namespace lockstep::device::cpu
