#include "device/cpu/packed_linear.h"

#include "device/cpu/packed_panel.h"
#include "device/quant_blocks.h"
#include "device/stack_check.h"

namespace lockstep::device::cpu {
namespace {

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

PackedLinear::PackedLinear(int64_t outputs, int64_t inputs, int64_t bytes,
                           std::shared_ptr<std::byte> data, std::vector<Segment> segments)
    : LinearPlan(outputs, inputs), data_(std::move(data)), segments_(std::move(segments)) {
  bytes_ = bytes;
}

StatusOr<std::unique_ptr<PackedLinear>> PackedLinear::pack(std::span<const LinearWeight> stacked,
                                                           Arithmetic arithmetic, ThreadPool& pool,
                                                           PackedArena& arena) {
  LOCKSTEP_RETURN_IF_ERROR(check_stack(stacked));
  std::vector<Segment> segments = lay_out(stacked, arithmetic);
  int64_t bytes = 0;
  for (const Segment& s : segments) bytes += s.panels * s.panel_bytes;
  LOCKSTEP_ASSIGN_OR_RETURN(std::shared_ptr<std::byte> memory,
                            arena.take(static_cast<uint64_t>(bytes)));

  std::byte* data = memory.get();
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
  return std::unique_ptr<PackedLinear>(new PackedLinear(outputs, stacked[0].weight.shape[1], bytes,
                                                        std::move(memory), std::move(segments)));
}

}  // namespace lockstep::device::cpu
