// Writes down a digest of what each op gave: two runs that should agree are compared line by line,
// and the first line that differs names the op.
//
// REQUIRES an inner device whose ops have run when they return (reference, cpu).
#pragma once

#include <string>
#include <vector>

#include "device/check/forwarding_device.h"

namespace lockstep::device {

class TraceDevice : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;

  // "linear 8a3f...": an op and the XXH3 of its output rows, NaNs canonical. K and V in pages are
  // seen through the `attend` that reads them.
  const std::vector<std::string>& lines() const { return lines_; }
  void clear() { lines_.clear(); }

  void embed(const StepView& step, const LinearPlan& table, float scale, View out) override;
  void rms_norm(const StepView& step, RowSet rows, View in, const Vector& weight, float eps,
                View out) override;
  void linear(const StepView& step, RowSet rows, const LinearPlan& plan, View in,
              View out) override;
  void rope_and_append(const StepView& step, const RopePlan* rope, PagePool& pool, StateLayer layer,
                       View q, View k, View v) override;
  void attend(const StepView& step, const PagePool& pool, StateLayer layer, const AttendSpec& spec,
              View q, View out) override;
  void gated_activation(const StepView& step, GatedActivation kind, View gate, View up,
                        View out) override;
  void add(const StepView& step, View x, View y) override;
  void gather_logit_rows(const StepView& step, View in, View out) override;
  void soft_cap(const StepView& step, float cap, View x) override;
  void sample(const StepView& step, View logits) override;

 private:
  void note(const char* op, int rows, View out);

  std::vector<std::string> lines_;
};

}  // namespace lockstep::device
