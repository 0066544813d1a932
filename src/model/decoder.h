// What the decoder families here share: a residual stream between an embedding table and a head,
// and the buffers of one layer. A family adds its layers and its forward().
#pragma once

#include <memory>
#include <utility>

#include "model/model.h"
#include "model/weights.h"

namespace lockstep::model {

class Decoder : public Model {
 public:
  Decoder(const formats::ModelConfig& config, Vocabulary vocabulary, device::Device& device,
          const BuildOptions& options);

  void forward(const device::StepView& step, device::PagePool& pool) final;
  const device::Buffer& logits() const final { return *logits_; }
  device::View logits_view() final { return *logits_; }

 protected:
  // Embedding, final norm, head (the embedding's own plan where tied) and the buffers.
  // `norm_offset`: what the file's norm weights leave out.
  Status bind_ends(WeightBinder& binder, float norm_offset);

  // A plan for every layer's q|k|v or gate|up, in the order of the views below.
  StatusOr<std::unique_ptr<device::LinearPlan>> bind_qkv(WeightBinder& binder, int layer);
  StatusOr<std::unique_ptr<device::LinearPlan>> bind_attention_output(WeightBinder& binder,
                                                                      int layer);
  StatusOr<std::unique_ptr<device::LinearPlan>> bind_gate_up(WeightBinder& binder, int layer);
  StatusOr<std::unique_ptr<device::LinearPlan>> bind_down(WeightBinder& binder, int layer);

  // All layers of the model, from x to x.
  virtual void layers(const device::StepView& step, device::PagePool& pool) = 0;

  // Adds to weight_bytes() and hands the plan on.
  std::unique_ptr<device::LinearPlan> counted(std::unique_ptr<device::LinearPlan> plan);

  const formats::ModelConfig config_;
  device::Device& device_;
  float eps_;
  float embedding_scale_ = 1.0f;

  // [max_rows, .] activations of a layer.
  std::unique_ptr<device::Buffer> x_;         // residual stream
  std::unique_ptr<device::Buffer> h_;         // [hidden]
  std::unique_ptr<device::Buffer> qkv_;       // [(heads + 2 kv_heads) head_size]
  std::unique_ptr<device::Buffer> attended_;  // [heads head_size]
  std::unique_ptr<device::Buffer> gate_up_;   // [2 intermediate]
  device::View q_, k_, v_, gate_, up_;

 private:
  std::unique_ptr<device::LinearPlan> embedding_;
  std::unique_ptr<device::LinearPlan> own_head_;  // null where tied
  std::unique_ptr<device::Vector> final_norm_;
  std::unique_ptr<device::Buffer> last_;    // [max_logit_rows, hidden]
  std::unique_ptr<device::Buffer> logits_;  // [max_logit_rows, V]
};

}  // namespace lockstep::model
