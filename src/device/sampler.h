// Draws a token from a row of logits: docs/numerics.md, Sampling. Shared by the devices that sample
// on the host.
#pragma once

#include <cstdint>
#include <span>

#include "base/sampling.h"
#include "base/vocabulary.h"

namespace lockstep::device {

// x[i] = exp_f32(x[i]) for i < n, the same bits, however fast.
using ExpRow = void (*)(float* x, int64_t n);
void exp_row(float* x, int64_t n);

// `position` is that of the row whose logits these are. The result is a function of the arguments
// alone. NaN logits are never drawn, unless all are: then the answer is id 0.
//
// Time is linear in the row, with a sort of only those ids that top-k or top-p may keep.
// REQUIRES a row that is not empty, 0 <= position, and the mode of ComputeScope.
TokenId sample_row(std::span<const float> logits, const SamplingParams& params, int32_t position,
                   ExpRow exp = exp_row);

// The same after the row's edits, which are made to a copy.
TokenId sample_row(std::span<const float> logits, const RowSampling& sampling, int32_t position,
                   ExpRow exp = exp_row);

}  // namespace lockstep::device
