// The gated MLP of most decoders, with its scratch; what differs by layer is in its Weights.
//
// Thread rule: as the device, which must outlive it.
#pragma once

#include <memory>

#include "device/device.h"
#include "formats/model_config.h"
#include "model/weights.h"

namespace lockstep::model {

class GatedMlp {
 public:
  struct Weights {
    std::unique_ptr<device::LinearPlan> gate_up;  // gate|up
    std::unique_ptr<device::LinearPlan> down;
  };

  // By the config's sizes, biases and activation.
  GatedMlp(const formats::ModelConfig& config, device::Device& device)
      : config_(config), device_(device) {}

  StatusOr<Weights> bind(WeightBinder& binder, int layer) const;

  // Scratch for `max_rows` rows, as wide as the config says: once the weights have shown it true.
  Status allocate(int max_rows);

  // h [rows, hidden], in place; REQUIRES allocate(): h = W_down (act(W_gate h) * W_up h).
  void run(const device::StepView& step, const Weights& weights, device::View h) const;

 private:
  const formats::ModelConfig config_;
  device::Device& device_;
  std::unique_ptr<device::Buffer> gate_up_;  // [max_rows, 2 intermediate]
  device::View gate_, up_;                   // of gate_up_
};

}  // namespace lockstep::model
