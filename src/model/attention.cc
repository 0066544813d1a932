#include "model/attention.h"

#include <algorithm>
#include <cmath>

namespace lockstep::model {
namespace {

using device::RowSet;
using device::View;
using formats::LayerKind;
using formats::ModelConfig;

constexpr TensorName kQNormName = {"self_attn.q_norm", "attn_q_norm"};
constexpr TensorName kKNormName = {"self_attn.k_norm", "attn_k_norm"};

}  // namespace

Attention::Attention(const ModelConfig& config, device::Device& device)
    : config_(config),
      device_(device),
      eps_(static_cast<float>(config.rms_eps)),
      spec_{.heads = static_cast<int>(config.heads),
            .scale = 1.0f / std::sqrt(static_cast<float>(config.query_scale_size)),
            .soft_cap = static_cast<float>(config.attention_soft_cap)} {}

StatusOr<Attention::Weights> Attention::bind(WeightBinder& binder, int layer) const {
  Weights w;
  const ModelConfig& c = config_;
  const int64_t q = c.heads * c.head_size;
  const int64_t kv = c.kv_heads * c.head_size;
  const Matrix qkv[] = {{kQName, q, c.hidden_size, c.qkv_bias},
                        {kKName, kv, c.hidden_size, c.qkv_bias},
                        {kVName, kv, c.hidden_size, c.qkv_bias}};
  LOCKSTEP_ASSIGN_OR_RETURN(w.qkv, binder.linear(layer, qkv));
  if (c.qk_norm) {
    LOCKSTEP_ASSIGN_OR_RETURN(w.q_norm, binder.norm(layer, kQNormName, c.head_size));
    LOCKSTEP_ASSIGN_OR_RETURN(w.k_norm, binder.norm(layer, kKNormName, c.head_size));
  }
  LOCKSTEP_ASSIGN_OR_RETURN(
      w.output, binder.linear(layer, {kOutputName, c.hidden_size, q, c.attention_output_bias}));
  return w;
}

Status Attention::allocate(int max_rows) {
  const int q = static_cast<int>(config_.heads * config_.head_size);
  const int kv = static_cast<int>(config_.kv_heads * config_.head_size);
  LOCKSTEP_ASSIGN_OR_RETURN(qkv_, device_.alloc(max_rows, q + 2 * kv));
  LOCKSTEP_ASSIGN_OR_RETURN(attended_, device_.alloc(max_rows, q));
  q_ = View(*qkv_, 0, q);
  k_ = View(*qkv_, q, kv);
  v_ = View(*qkv_, q + kv, kv);
  return ok_status();
}

void Attention::run(const device::StepView& step, device::PagePool& pool, StateLayer state,
                    const Weights& w, const device::RopePlan& rope, View h) const {
  device::Device& d = device_;
  d.linear(step, RowSet::kAll, *w.qkv, h, *qkv_);
  if (config_.qk_norm) {
    d.rms_norm(step, RowSet::kAll, q_, *w.q_norm, eps_, q_);
    d.rms_norm(step, RowSet::kAll, k_, *w.k_norm, eps_, k_);
  }
  d.rope_and_append(step, &rope, pool, state, q_, k_, v_);
  d.attend(step, pool, state, spec_, q_, *attended_);
  d.linear(step, RowSet::kAll, *w.output, *attended_, h);
}

StateLayout attention_state(const ModelConfig& config) {
  StateLayout layout;
  for (const LayerKind kind : config.layer_kinds) {
    const bool slides = kind == LayerKind::kSliding;
    const StateKind state = slides ? StateKind::kWindow : StateKind::kFull;
    auto group = std::ranges::find(layout.groups, state, &LayerGroup::kind);
    if (group == layout.groups.end()) {
      layout.groups.push_back({.kind = state,
                               .window = slides ? static_cast<int>(config.sliding_window) : 0,
                               .layers = 0,
                               .kv_heads = static_cast<int>(config.kv_heads),
                               .k_head_size = static_cast<int>(config.head_size),
                               .v_head_size = static_cast<int>(config.head_size)});
      group = layout.groups.end() - 1;
    }
    layout.layers.push_back(
        {.group = static_cast<int>(group - layout.groups.begin()), .index = group->layers++});
  }
  return layout;
}

}  // namespace lockstep::model
