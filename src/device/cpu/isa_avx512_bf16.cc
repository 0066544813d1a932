#include "device/cpu/attention-inl.h"
#include "device/cpu/dpbf16_check-inl.h"
#include "device/cpu/kernels.h"
#include "device/cpu/linear-inl.h"
#include "device/cpu/rows-inl.h"

#if !defined(__AVX512VNNI__) || !defined(__AVX512BF16__)
#error "built with the wrong flags"
#endif

namespace lockstep::device::cpu {

constinit const Kernels kKernels_avx512_bf16 = {
    .isa = "avx512_bf16",
    .linear = make_linear_kernels(),
    .attention = make_attention_kernels(),
    .rows = make_row_kernels(),
};

}  // namespace lockstep::device::cpu
