#include "device/check/trace_device.h"

#include <fmt/format.h>

#include "base/hash.h"

namespace lockstep::device {

void TraceDevice::note(const char* op, int rows, View out) {
  std::vector<float> row(out.buffer->width());
  std::vector<float> values;
  for (int r = 0; r < rows; ++r) {
    read(*out.buffer, r, row);
    values.insert(values.end(), row.begin() + out.first, row.begin() + out.first + out.width);
  }
  lines_.push_back(fmt::format("{} {}", op, xxh3_128_hex(std::as_bytes(std::span(values)))));
}

void TraceDevice::embed(const StepView& step, const LinearPlan& table, float scale, View out) {
  inner().embed(step, table, scale, out);
  note("embed", step.rows(), out);
}

void TraceDevice::rms_norm(const StepView& step, RowSet rows, View in, const Vector& weight,
                           float eps, View out) {
  inner().rms_norm(step, rows, in, weight, eps, out);
  note("rms_norm", row_count(step, rows), out);
}

void TraceDevice::linear(const StepView& step, RowSet rows, const LinearPlan& plan, View in,
                         View out) {
  inner().linear(step, rows, plan, in, out);
  note("linear", row_count(step, rows), out);
}

void TraceDevice::rope_and_append(const StepView& step, const RopePlan* rope, PagePool& pool,
                                  StateLayer layer, View q, View k, View v) {
  inner().rope_and_append(step, rope, pool, layer, q, k, v);
  note("rope_and_append q", step.rows(), q);
}

void TraceDevice::attend(const StepView& step, const PagePool& pool, StateLayer layer,
                         const AttendSpec& spec, View q, View out) {
  inner().attend(step, pool, layer, spec, q, out);
  note("attend", step.rows(), out);
}

void TraceDevice::gated_activation(const StepView& step, GatedActivation kind, View gate, View up,
                                   View out) {
  inner().gated_activation(step, kind, gate, up, out);
  note("gated_activation", step.rows(), out);
}

void TraceDevice::add(const StepView& step, View x, View y) {
  inner().add(step, x, y);
  note("add", step.rows(), x);
}

void TraceDevice::gather_logit_rows(const StepView& step, View in, View out) {
  inner().gather_logit_rows(step, in, out);
  note("gather_logit_rows", step.logit_rows(), out);
}

void TraceDevice::soft_cap(const StepView& step, float cap, View x) {
  inner().soft_cap(step, cap, x);
  note("soft_cap", step.logit_rows(), x);
}

// The tokens are read after the step, with sampled(): here only that it happened.
void TraceDevice::sample(const StepView& step, View logits) {
  inner().sample(step, logits);
  note("sample of", step.logit_rows(), logits);
}

}  // namespace lockstep::device
