#include "device/stack_check.h"

#include "device/quant_blocks.h"

namespace lockstep::device {
namespace {

Status check_weight(const TensorView& weight) {
  if (!is_matrix_type(weight.dtype)) {
    return unimplemented("a matrix of type {}; F32, F16, BF16 and block types can be multiplied",
                         dtype_name(weight.dtype));
  }
  if (weight.shape.size() != 2 || weight.shape[0] < 1 || weight.shape[1] < 1) {
    return invalid_argument("weight of shape {}; a matrix has two dimensions of at least 1",
                            shape_string(weight.shape));
  }
  const int block = dtype_info(weight.dtype).block_elements;
  if (weight.shape[1] % block != 0) {
    return invalid_argument("weight of shape {} and type {}; a row must be whole blocks of {}",
                            shape_string(weight.shape), dtype_name(weight.dtype), block);
  }
  return ok_status();
}

Status check_bias(const TensorView& bias, int64_t outputs) {
  if (dtype_info(bias.dtype).quantised() || !is_matrix_type(bias.dtype)) {
    return unimplemented("a bias of type {}; F32, F16 and BF16 are possible",
                         dtype_name(bias.dtype));
  }
  if (bias.shape != Shape{outputs}) {
    return invalid_argument("bias of shape {}; the weight has {} outputs", shape_string(bias.shape),
                            outputs);
  }
  return ok_status();
}

}  // namespace

Status check_stack(std::span<const LinearWeight> stacked) {
  if (stacked.empty()) return invalid_argument("no weights to stack; at least one is needed");
  for (const LinearWeight& w : stacked) {
    LOCKSTEP_RETURN_IF_ERROR(check_weight(w.weight));
    const int64_t inputs = stacked[0].weight.shape[1];
    if (w.weight.shape[1] != inputs) {
      return invalid_argument("weights of {} and {} inputs do not stack; they must be equal",
                              inputs, w.weight.shape[1]);
    }
    if (w.bias) LOCKSTEP_RETURN_IF_ERROR(check_bias(*w.bias, w.weight.shape[0]));
  }
  return ok_status();
}

int64_t stacked_outputs(std::span<const LinearWeight> stacked) {
  int64_t outputs = 0;
  for (const LinearWeight& w : stacked) outputs += w.weight.shape[0];
  return outputs;
}

}  // namespace lockstep::device
