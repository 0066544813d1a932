#include "device/cpu/packed_linear.h"

#include <string>

#include "device/cpu/packed_panel.h"
#include "device/quant_blocks.h"

namespace lockstep::device::cpu {
namespace {

// That a weight is a matrix of a type that can be packed, with whole blocks a row.
Status check_weight(const TensorView& weight) {
  const std::string shape = shape_string(weight.shape);
  if (!is_matrix_type(weight.dtype)) {
    return unimplemented("a matrix of type {}; F32, F16, BF16 and block types can be multiplied",
                         dtype_name(weight.dtype));
  }
  if (weight.shape.size() != 2 || weight.shape[0] < 1 || weight.shape[1] < 1) {
    return invalid_argument("weight of shape {}; a matrix has two dimensions of at least 1", shape);
  }
  const int block = dtype_info(weight.dtype).block_elements;
  if (weight.shape[1] % block != 0) {
    return invalid_argument("weight of shape {} and type {}; a row must be whole blocks of {}",
                            shape, dtype_name(weight.dtype), block);
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

int64_t count_outputs(std::span<const LinearWeight> stacked) {
  int64_t outputs = 0;
  for (const LinearWeight& w : stacked) outputs += w.weight.shape[0];
  return outputs;
}

}  // namespace

StatusOr<std::unique_ptr<PackedLinear>> PackedLinear::pack(std::span<const LinearWeight> stacked,
                                                           Arithmetic arithmetic,
                                                           ThreadPool& pool) {
  LOCKSTEP_RETURN_IF_ERROR(check_stack(stacked));
  const int64_t inputs = stacked[0].weight.shape[1];
  std::unique_ptr<PackedLinear> plan(new PackedLinear(count_outputs(stacked), inputs));

  int64_t output = 0;
  int64_t panel = 0;
  for (const LinearWeight& w : stacked) {
    Segment segment = {};
    segment.packing = packing_for(arithmetic, w.weight);
    segment.first_output = output;
    segment.outputs = w.weight.shape[0];
    segment.first_panel = panel;
    segment.panels = (segment.outputs + kPanelOutputs - 1) / kPanelOutputs;
    segment.panel_bytes = panel_bytes(segment.packing, inputs);
    if (w.bias) {
      segment.bias.resize(static_cast<size_t>(segment.panels * kPanelOutputs));
      dequantise(w.bias->dtype, w.bias->bytes.data(),
                 std::span(segment.bias).first(static_cast<size_t>(segment.outputs)));
    }
    output += segment.outputs;
    panel += segment.panels;
    plan->bytes_ += segment.panels * segment.panel_bytes;
    plan->segments_.push_back(std::move(segment));
  }

  LOCKSTEP_ASSIGN_OR_RETURN(plan->memory_,
                            PackedMemory::allocate(static_cast<size_t>(plan->bytes_)));
  std::byte* data = plan->memory_.data();
  for (size_t i = 0; i < stacked.size(); ++i) {
    Segment& segment = plan->segments_[i];
    const TensorView& weight = stacked[i].weight;
    pool.run(segment.panels, [&](int64_t p, int) {
      pack_panel(segment.packing, weight, p * kPanelOutputs, data + p * segment.panel_bytes);
    });
    segment.data = data;
    data += segment.panels * segment.panel_bytes;
  }
  return plan;
}

}  // namespace lockstep::device::cpu
