// The row-wise kernels that one instruction set provides: one call is one row. PODs and plain
// pointers only, as in linear_kernels.h. Arithmetic: the ops of device.h of the same names.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep::device::cpu {

struct RowKernels {
  // Each of `heads` consecutive heads of `size` floats.
  void (*rms_norm)(const float* in, const float* weight, int size, int heads, float eps,
                   float* out);
  // out = act(gate) * up, by GatedActivation.
  void (*gated_activation[2])(const float* gate, const float* up, int width, float* out);
  void (*exp)(float* x, int64_t width);  // in place
  void (*add)(float* x, const float* y, int width);
  void (*soft_cap)(float cap, float* x, int width);
  // Cosines and sines of one position, times magnitude.
  void (*rope_angles)(const float* inverse_frequencies, int pairs, float position, float magnitude,
                      float* cosines, float* sines);
  // In place, the first 2 x pairs dimensions of every head; by RopeStyle.
  void (*rotate[2])(const float* cosines, const float* sines, int pairs, int head_size, int heads,
                    float* x);
};

}  // namespace lockstep::device::cpu
