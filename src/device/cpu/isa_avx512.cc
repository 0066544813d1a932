#include "device/cpu/kernels.h"
#include "device/cpu/linear-inl.h"

namespace lockstep::device::cpu {

constinit const Kernels kKernels_avx512 = {
    .isa = "avx512",
    .linear = make_linear_kernels(),
};

}  // namespace lockstep::device::cpu
