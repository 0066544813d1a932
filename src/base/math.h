// Our own transcendental functions for code that is not a kernel. libm's are not used where bits
// reach a result: they differ between CPUs.
//
// f32: lane_math-inl.h over one lane, so the same bits as the kernels. REQUIRES the mode of
// ComputeScope (base/thread_pool.h) where denormals could enter.
// f64: relative error below 1e-15 (exp_f64, log_f64) in the default mode; used for rope tables.
//
// Thread rule: pure functions. Edges and measured errors: docs/numerics.md, Functions.
#pragma once

namespace lockstep {

struct SinCos {
  float sin;
  float cos;
};

float exp_f32(float x);
float log_f32(float x);
SinCos sincos_f32(float x);  // |x| <= 2^24
float tanh_f32(float x);
float silu_f32(float x);                 // x / (1 + e^-x)
float gelu_tanh_f32(float x);            // (0.5 x) (1 + tanh(sqrt(2/pi) fma(0.044715 (x x), x, x)))
float soft_cap_f32(float x, float cap);  // cap tanh(x / cap)

double exp_f64(double x);  // x < -708: 0; x > 709: infinity
double log_f64(double x);  // 0 and denormals: -infinity; negative: NaN
// exp_f64(y log_f64(x)): relative error below 1e-14 while |y log x| <= 32. REQUIRES x > 0.
double pow_f64(double x, double y);

}  // namespace lockstep
