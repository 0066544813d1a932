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

// Everything of the segments but their data.
std::vector<PackedLinear::Segment> lay_out(std::span<const LinearWeight> stacked,
                                           Arithmetic arithmetic) {
  std::vector<PackedLinear::Segment> segments;
  int64_t output = 0;
  int64_t panel = 0;
  for (const LinearWeight& w : stacked) {
    PackedLinear::Segment s = {};
    s.packing = packing_for(arithmetic, w.weight);
    s.first_output = output;
    s.outputs = w.weight.shape[0];
    s.first_panel = panel;
    s.panels = (s.outputs + kPanelOutputs - 1) / kPanelOutputs;
    s.panel_bytes = panel_bytes(s.packing, w.weight.shape[1]);
    if (w.bias) {
      s.bias.resize(static_cast<size_t>(s.panels * kPanelOutputs));
      dequantise(w.bias->dtype, w.bias->bytes.data(),
                 std::span(s.bias).first(static_cast<size_t>(s.outputs)));
    }
    output += s.outputs;
    panel += s.panels;
    segments.push_back(std::move(s));
  }
  return segments;
}

}  // namespace

PackedLinear::PackedLinear(int64_t outputs, int64_t inputs, Memory memory,
                           std::vector<Segment> segments)
    : LinearPlan(outputs, inputs), memory_(std::move(memory)), segments_(std::move(segments)) {
  bytes_ = static_cast<int64_t>(memory_.bytes());
}

StatusOr<std::unique_ptr<PackedLinear>> PackedLinear::pack(std::span<const LinearWeight> stacked,
                                                           Arithmetic arithmetic,
                                                           ThreadPool& pool) {
  LOCKSTEP_RETURN_IF_ERROR(check_stack(stacked));
  std::vector<Segment> segments = lay_out(stacked, arithmetic);
  uint64_t bytes = 0;
  for (const Segment& s : segments) bytes += static_cast<uint64_t>(s.panels * s.panel_bytes);
  LOCKSTEP_ASSIGN_OR_RETURN(Memory memory, Memory::map(bytes, "packed weights", PageSize::kHuge));

  std::byte* data = memory.data();
  for (size_t i = 0; i < stacked.size(); ++i) {
    Segment& s = segments[i];
    const TensorView& weight = stacked[i].weight;
    pool.run(s.panels, [&](int64_t p, int) {
      pack_panel(s.packing, weight, p * kPanelOutputs, data + p * s.panel_bytes);
    });
    s.data = data;
    data += s.panels * s.panel_bytes;
  }
  const int64_t outputs = segments.back().first_output + segments.back().outputs;
  return std::unique_ptr<PackedLinear>(new PackedLinear(outputs, stacked[0].weight.shape[1],
                                                        std::move(memory), std::move(segments)));
}

}  // namespace lockstep::device::cpu
