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

  // All weights of the file. Nothing is allocated yet by what its config says.
  Status bind_all(WeightBinder& binder);
  // Activations, once the weights have shown the config true.
  Status allocate();

  void forward(const device::StepView& step, device::PagePool& pool) final;
  const device::Buffer& logits() const final { return *logits_; }
  device::View logits_view() final { return *logits_; }

 protected:
  // The layers' weights and state (layout_).
  virtual Status bind(WeightBinder& binder) = 0;
  // What the layers write between x and x.
  virtual Status allocate_scratch() = 0;
  // All layers of the model, from x to x.
  virtual void layers(const device::StepView& step, device::PagePool& pool) = 0;

  const formats::ModelConfig config_;
  device::Device& device_;
  const float eps_;
  float embedding_scale_ = 1.0f;
  std::unique_ptr<device::Buffer> x_;  // [max_rows, hidden] residual stream
  std::unique_ptr<device::Buffer> h_;  // [max_rows, hidden] what a block reads and writes

 private:
  // Embedding, final norm and head (the embedding's own plan where tied).
  Status bind_ends(WeightBinder& binder);
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
  LOCKSTEP_RETURN_IF_ERROR(model->bind_all(binder));
  LOCKSTEP_RETURN_IF_ERROR(model->allocate());
  return model;
}

}  // namespace lockstep::model
