// The negative control of the device contract: a correct device, except that K is summed in two
// halves as soon as a step has more than kWholeRows rows, as kernels that split by batch size do.
// The contract's checks must find it out.
#pragma once

#include "device/check/forwarding_device.h"

namespace lockstep::device::contract {

class RowSlicedDevice : public ForwardingDevice {
 public:
  static constexpr int kWholeRows = 16;
  using ForwardingDevice::ForwardingDevice;

  StatusOr<std::unique_ptr<LinearPlan>> prepare(std::span<const LinearWeight> stacked) override;
  void embed(const StepView& step, const LinearPlan& table, float scale, View out) override;
  void linear(const StepView& step, RowSet rows, const LinearPlan& plan, View in,
              View out) override;
};

}  // namespace lockstep::device::contract
