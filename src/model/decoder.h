// What the decoder families here share: a residual stream between an embedding table and a head. A
// family binds its layers and runs them.
#pragma once

#include <memory>
#include <utility>

#include "model/families/families.h"
#include "model/model.h"
#include "model/weights.h"

namespace lockstep::model {

class Decoder : public Model {
 public:
  explicit Decoder(const BuildContext& context);

  // Embedding, final norm, head (the embedding's own plan where tied) and their buffers.
  Status bind_ends(WeightBinder& binder);
  // The layers' weights, scratch and state (layout_).
  virtual Status bind(WeightBinder& binder) = 0;
  // What is left once everything is bound: nothing of the file, and weight_bytes().
  Status finish(const WeightBinder& binder);

  void forward(const device::StepView& step, device::PagePool& pool) final;
  const device::Buffer& logits() const final { return *logits_; }
  device::View logits_view() final { return *logits_; }

 protected:
  // All layers of the model, from x to x.
  virtual void layers(const device::StepView& step, device::PagePool& pool) = 0;

  const formats::ModelConfig config_;
  device::Device& device_;
  const float eps_;
  float embedding_scale_ = 1.0f;
  std::unique_ptr<device::Buffer> x_;  // [max_rows, hidden] residual stream
  std::unique_ptr<device::Buffer> h_;  // [max_rows, hidden] what a block reads and writes

 private:
  const device::LinearPlan& head() const { return own_head_ ? *own_head_ : *embedding_; }

  std::unique_ptr<device::LinearPlan> embedding_;
  std::unique_ptr<device::LinearPlan> own_head_;  // null where tied
  std::unique_ptr<device::Vector> final_norm_;
  std::unique_ptr<device::Buffer> last_;    // [max_logit_rows, hidden]
  std::unique_ptr<device::Buffer> logits_;  // [max_logit_rows, V]
};

// `norm_offset`: what the file's norm weights leave out.
template <class Family>
StatusOr<std::unique_ptr<Model>> build_decoder(const BuildContext& context,
                                               float norm_offset = 0.0f) {
  LOCKSTEP_ASSIGN_OR_RETURN(WeightBinder binder,
                            WeightBinder::create(context.checkpoint, context.device, norm_offset));
  auto model = std::make_unique<Family>(context);
  LOCKSTEP_RETURN_IF_ERROR(model->bind_ends(binder));
  LOCKSTEP_RETURN_IF_ERROR(model->bind(binder));
  LOCKSTEP_RETURN_IF_ERROR(model->finish(binder));
  return model;
}

}  // namespace lockstep::model
