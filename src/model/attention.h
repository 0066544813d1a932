// Grouped-query softmax attention with rotary positions: the block that most decoders mix positions
// with. One Attention serves all layers of one geometry and owns their scratch; what differs by
// layer is in its Weights.
//
// Thread rule: as the device, which must outlive it.
#pragma once

#include <memory>

#include "device/device.h"
#include "formats/model_config.h"
#include "model/weights.h"

namespace lockstep::model {

class Attention {
 public:
  struct Weights {
    std::unique_ptr<device::LinearPlan> qkv;         // q|k|v
    std::unique_ptr<device::Vector> q_norm, k_norm;  // [head_size]; null without qk_norm
    std::unique_ptr<device::LinearPlan> output;
  };

  // By the config's heads, biases, norms, score scale and soft cap.
  Attention(const formats::ModelConfig& config, device::Device& device);

  StatusOr<Weights> bind(WeightBinder& binder, int layer) const;

  // Scratch for `max_rows` rows, as wide as the config says: once the weights have shown it true.
  Status allocate(int max_rows);

  // h [rows, hidden], in place; REQUIRES allocate():
  //   q|k|v = W_qkv h;  q, k = rope(norm(q)), rope(norm(k));  h = W_o attend(q, K + k, V + v)
  void run(const device::StepView& step, device::PagePool& pool, StateLayer state,
           const Weights& weights, const device::RopePlan& rope, device::View h) const;

 private:
  const formats::ModelConfig config_;
  device::Device& device_;
  const float eps_;
  const device::AttendSpec spec_;
  std::unique_ptr<device::Buffer> qkv_;       // [max_rows, (heads + 2 kv_heads) head_size]
  std::unique_ptr<device::Buffer> attended_;  // [max_rows, heads head_size]
  device::View q_, k_, v_;                    // of qkv_
};

// One group for the layers that see everything and one for those behind a window, so that pages
// behind it can be given back; a group that no layer is in is left out.
StateLayout attention_state(const formats::ModelConfig& config);

}  // namespace lockstep::model
