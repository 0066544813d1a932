#include "device/cpu/kernels.h"
#include "device/cpu/linear-inl.h"

#if !defined(__AVX512BW__) || !defined(__AVX512VL__) || defined(__AVX512VNNI__)
#error "built with the wrong flags"
#endif

namespace lockstep::device::cpu {

constinit const Kernels kKernels_avx512 = {
    .isa = "avx512",
    .linear = make_linear_kernels(),
};

}  // namespace lockstep::device::cpu
