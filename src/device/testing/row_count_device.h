// The negative control of the device contract: a correct device, except that its rounding follows
// the row count, as that of kernels chosen by batch size does. In steps of more than kWholeRows
// rows K is summed in two halves, and scores pass through a soft cap that changes last bits only.
// The contract's checks must find it out.
#pragma once

#include "device/check/forwarding_device.h"

namespace lockstep::device::contract {

class RowCountDevice : public ForwardingDevice {
 public:
  static constexpr int kWholeRows = 16;
  using ForwardingDevice::ForwardingDevice;

  StatusOr<std::unique_ptr<LinearPlan>> prepare(std::span<const LinearWeight> stacked) override;
  void embed(const StepView& step, const LinearPlan& table, float scale, View out) override;
  void linear(const StepView& step, RowSet rows, const LinearPlan& plan, View in,
              View out) override;
  void attend(const StepView& step, const PagePool& pool, StateLayer layer, const AttendSpec& spec,
              View q, View out) override;
};

}  // namespace lockstep::device::contract
