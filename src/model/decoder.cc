#include "model/decoder.h"

namespace lockstep::model {

using device::RowSet;

Decoder::Decoder(const BuildContext& context)
    : Model(context.vocabulary, context.options),
      config_(context.checkpoint.config()),
      device_(context.device),
      eps_(static_cast<float>(config_.rms_eps)) {
  max_positions_ = static_cast<int>(config_.max_positions);
}

Status Decoder::bind_ends(WeightBinder& binder) {
  const int64_t vocab = config_.vocab_size;
  const int64_t hidden = config_.hidden_size;
  const Matrix head = {kHeadName, vocab, hidden};
  LOCKSTEP_ASSIGN_OR_RETURN(embedding_, binder.linear(kNoLayer, {kEmbeddingName, vocab, hidden}));
  if (config_.tied_embeddings) {
    LOCKSTEP_RETURN_IF_ERROR(binder.leave_aside(head));  // some files store the table twice
  } else {
    LOCKSTEP_ASSIGN_OR_RETURN(own_head_, binder.linear(kNoLayer, head));
  }
  LOCKSTEP_ASSIGN_OR_RETURN(final_norm_, binder.norm(kNoLayer, kFinalNormName, hidden));
  return ok_status();
}

Status Decoder::bind_all(WeightBinder& binder) {
  LOCKSTEP_RETURN_IF_ERROR(bind_ends(binder));
  LOCKSTEP_RETURN_IF_ERROR(bind(binder));
  weight_bytes_ = binder.layer_bytes() + head().bytes();
  return binder.finish();
}

Status Decoder::allocate() {
  const int hidden = static_cast<int>(config_.hidden_size);
  const int vocab = static_cast<int>(config_.vocab_size);
  LOCKSTEP_ASSIGN_OR_RETURN(x_, device_.alloc(options().max_rows, hidden));
  LOCKSTEP_ASSIGN_OR_RETURN(h_, device_.alloc(options().max_rows, hidden));
  LOCKSTEP_ASSIGN_OR_RETURN(last_, device_.alloc(options().max_logit_rows, hidden));
  LOCKSTEP_ASSIGN_OR_RETURN(logits_, device_.alloc(options().max_logit_rows, vocab));
  return allocate_scratch();
}

void Decoder::forward(const device::StepView& step, device::PagePool& pool) {
  device_.embed(step, *embedding_, embedding_scale_, *x_);
  layers(step, pool);
  device_.gather_logit_rows(step, *x_, *last_);
  device_.rms_norm(step, RowSet::kLogits, *last_, *final_norm_, eps_, *last_);
  device_.linear(step, RowSet::kLogits, head(), *last_, *logits_);
  if (config_.final_soft_cap != 0.0) {
    device_.soft_cap(step, static_cast<float>(config_.final_soft_cap), *logits_);
  }
}

}  // namespace lockstep::model
