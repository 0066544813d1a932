// Matrices of the reference device, row-major and unpacked.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "device/device.h"
#include "device/linear_rule.h"

namespace lockstep::device::reference {

class ReferenceLinear : public LinearPlan {
 public:
  static StatusOr<std::unique_ptr<ReferenceLinear>> create(std::span<const LinearWeight> stacked,
                                                           Arithmetic arithmetic);

  // in [inputs], out [outputs].
  void multiply(const float* in, float* out) const;

  // out [inputs] = scale * row `output`.
  void embed(int64_t output, float scale, float* out) const;

 private:
  struct Weight {
    LinearRule rule;
    DType dtype;
    int64_t outputs;
    int64_t row_bytes;
    std::vector<float> values;      // [outputs, inputs]: kF32, kBF16
    std::vector<std::byte> blocks;  // as in the file: kInt8
    std::vector<float> bias;        // [outputs] or empty
  };

  using LinearPlan::LinearPlan;
  static Weight make_weight(const LinearWeight& from, Arithmetic arithmetic);
  void multiply(const Weight& weight, const float* in, float* out) const;

  std::vector<Weight> weights_;
};

}  // namespace lockstep::device::reference
