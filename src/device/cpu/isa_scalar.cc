#include "device/cpu/attention-inl.h"
#include "device/cpu/kernels.h"
#include "device/cpu/linear-inl.h"
#include "device/cpu/rows-inl.h"

#if defined(__AVX__)
#error "built with the wrong flags"
#endif

namespace lockstep::device::cpu {

constinit const Kernels kKernels_scalar = {
    .isa = "scalar",
    .linear = make_linear_kernels(),
    .attention = make_attention_kernels(),
    .rows = make_row_kernels(),
};

}  // namespace lockstep::device::cpu
