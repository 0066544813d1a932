#include "model/decoder.h"

namespace lockstep::model {

using device::LinearPlan;
using device::RowSet;
using device::View;

Decoder::Decoder(const formats::ModelConfig& config, Vocabulary vocabulary, device::Device& device,
                 const BuildOptions& options)
    : Model(vocabulary, options),
      config_(config),
      device_(device),
      eps_(static_cast<float>(config.rms_eps)) {
  max_positions_ = static_cast<int>(config.max_positions);
}

std::unique_ptr<LinearPlan> Decoder::counted(std::unique_ptr<LinearPlan> plan) {
  weight_bytes_ += plan->bytes();
  return plan;
}

Status Decoder::bind_ends(WeightBinder& binder, float norm_offset) {
  const int64_t vocab = config_.vocab_size;
  const int64_t hidden = config_.hidden_size;
  const Matrix head = {kHeadName, vocab, hidden};
  LOCKSTEP_ASSIGN_OR_RETURN(embedding_, binder.linear(kNoLayer, {kEmbeddingName, vocab, hidden}));
  if (config_.tied_embeddings) {
    LOCKSTEP_RETURN_IF_ERROR(binder.leave_aside(head));  // some files store the table twice
    weight_bytes_ += embedding_->bytes();
  } else {
    LOCKSTEP_ASSIGN_OR_RETURN(own_head_, binder.linear(kNoLayer, head));
    weight_bytes_ += own_head_->bytes();
  }
  LOCKSTEP_ASSIGN_OR_RETURN(final_norm_,
                            binder.norm(kNoLayer, kFinalNormName, hidden, norm_offset));

  const auto allocate = [&](int rows, int64_t width,
                            std::unique_ptr<device::Buffer>& out) -> Status {
    LOCKSTEP_ASSIGN_OR_RETURN(out, device_.alloc(rows, static_cast<int>(width)));
    return ok_status();
  };
  const int64_t q_width = config_.heads * config_.head_size;
  const int64_t kv_width = config_.kv_heads * config_.head_size;
  const int rows = options().max_rows;
  LOCKSTEP_RETURN_IF_ERROR(allocate(rows, hidden, x_));
  LOCKSTEP_RETURN_IF_ERROR(allocate(rows, hidden, h_));
  LOCKSTEP_RETURN_IF_ERROR(allocate(rows, q_width + 2 * kv_width, qkv_));
  LOCKSTEP_RETURN_IF_ERROR(allocate(rows, q_width, attended_));
  LOCKSTEP_RETURN_IF_ERROR(allocate(rows, 2 * config_.intermediate_size, gate_up_));
  LOCKSTEP_RETURN_IF_ERROR(allocate(options().max_logit_rows, hidden, last_));
  LOCKSTEP_RETURN_IF_ERROR(allocate(options().max_logit_rows, vocab, logits_));

  const int q = static_cast<int>(q_width);
  const int kv = static_cast<int>(kv_width);
  const int inner = static_cast<int>(config_.intermediate_size);
  q_ = View(*qkv_, 0, q);
  k_ = View(*qkv_, q, kv);
  v_ = View(*qkv_, q + kv, kv);
  gate_ = View(*gate_up_, 0, inner);
  up_ = View(*gate_up_, inner, inner);
  return ok_status();
}

StatusOr<std::unique_ptr<LinearPlan>> Decoder::bind_qkv(WeightBinder& binder, int layer) {
  const int64_t hidden = config_.hidden_size;
  const int64_t kv = config_.kv_heads * config_.head_size;
  const bool bias = config_.attention_bias;
  const Matrix stacked[] = {{kQName, config_.heads * config_.head_size, hidden, bias},
                            {kKName, kv, hidden, bias},
                            {kVName, kv, hidden, bias}};
  LOCKSTEP_ASSIGN_OR_RETURN(auto plan, binder.linear(layer, stacked));
  return counted(std::move(plan));
}

StatusOr<std::unique_ptr<LinearPlan>> Decoder::bind_attention_output(WeightBinder& binder,
                                                                     int layer) {
  LOCKSTEP_ASSIGN_OR_RETURN(
      auto plan, binder.linear(layer, {kOutputName, config_.hidden_size,
                                       config_.heads * config_.head_size, config_.attention_bias}));
  return counted(std::move(plan));
}

StatusOr<std::unique_ptr<LinearPlan>> Decoder::bind_gate_up(WeightBinder& binder, int layer) {
  const int64_t inner = config_.intermediate_size;
  const Matrix stacked[] = {{kGateName, inner, config_.hidden_size, config_.mlp_bias},
                            {kUpName, inner, config_.hidden_size, config_.mlp_bias}};
  LOCKSTEP_ASSIGN_OR_RETURN(auto plan, binder.linear(layer, stacked));
  return counted(std::move(plan));
}

StatusOr<std::unique_ptr<LinearPlan>> Decoder::bind_down(WeightBinder& binder, int layer) {
  LOCKSTEP_ASSIGN_OR_RETURN(
      auto plan, binder.linear(layer, {kDownName, config_.hidden_size, config_.intermediate_size,
                                       config_.mlp_bias}));
  return counted(std::move(plan));
}

void Decoder::forward(const device::StepView& step, device::PagePool& pool) {
  device_.embed(step, *embedding_, embedding_scale_, *x_);
  layers(step, pool);
  device_.gather_logit_rows(step, *x_, *last_);
  device_.rms_norm(step, RowSet::kLogits, *last_, *final_norm_, eps_, *last_);
  device_.linear(step, RowSet::kLogits, own_head_ ? *own_head_ : *embedding_, *last_, *logits_);
  if (config_.final_soft_cap != 0.0) {
    device_.soft_cap(step, static_cast<float>(config_.final_soft_cap), *logits_);
  }
}

}  // namespace lockstep::model
