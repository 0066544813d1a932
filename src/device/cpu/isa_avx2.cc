#include "device/cpu/attention-inl.h"
#include "device/cpu/kernels.h"
#include "device/cpu/linear-inl.h"
#include "device/cpu/rows-inl.h"

#if !defined(__AVX2__) || !defined(__FMA__) || !defined(__F16C__) || defined(__AVX512F__)
#error "built with the wrong flags"
#endif

namespace lockstep::device::cpu {

constinit const Kernels kKernels_avx2 = {
    .isa = "avx2",
    .linear = make_linear_kernels(),
    .attention = make_attention_kernels(),
    .rows = make_row_kernels(),
};

}  // namespace lockstep::device::cpu
