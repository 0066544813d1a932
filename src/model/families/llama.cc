// Llama (https://arxiv.org/abs/2302.13971) and what shares its shape: Llama 2 and 3, SmolLM2.
// Pre-norm attention with rotary positions and grouped queries, then a SiLU-gated MLP.
#include <cmath>

#include "model/decoder.h"
#include "model/families/families.h"
#include "model/rope.h"

namespace lockstep::model {
namespace {

using device::GatedActivation;
using device::RowSet;

constexpr TensorName kMlpNormName = {"post_attention_layernorm", "ffn_norm"};

class Llama final : public Decoder {
 public:
  using Decoder::Decoder;

  Status bind(const formats::Checkpoint& checkpoint) {
    LOCKSTEP_ASSIGN_OR_RETURN(WeightBinder binder, WeightBinder::create(checkpoint, device_));
    LOCKSTEP_RETURN_IF_ERROR(bind_ends(binder, 0.0f));
    for (int i = 0; i < static_cast<int>(config_.layers); ++i) {
      LOCKSTEP_ASSIGN_OR_RETURN(Layer layer, bind_layer(binder, i));
      layers_.push_back(std::move(layer));
    }
    const auto style = config_.layout == formats::WeightLayout::kGguf
                           ? device::RopeStyle::kInterleaved
                           : device::RopeStyle::kHalf;
    LOCKSTEP_ASSIGN_OR_RETURN(
        rope_, device_.prepare_rope(rope_spec(config_.rope, config_.rotary_size, style)));
    attend_ = {.heads = static_cast<int>(config_.heads),
               .scale = 1.0f / std::sqrt(static_cast<float>(config_.query_scale_size)),
               .soft_cap = 0.0f};
    declare_state();
    return binder.finish();
  }

 private:
  struct Layer {
    std::unique_ptr<device::Vector> attention_norm;  // [hidden]
    std::unique_ptr<device::LinearPlan> qkv;
    std::unique_ptr<device::LinearPlan> output;
    std::unique_ptr<device::Vector> mlp_norm;  // [hidden]
    std::unique_ptr<device::LinearPlan> gate_up;
    std::unique_ptr<device::LinearPlan> down;
  };

  StatusOr<Layer> bind_layer(WeightBinder& binder, int i) {
    Layer l;
    const int64_t hidden = config_.hidden_size;
    LOCKSTEP_ASSIGN_OR_RETURN(l.attention_norm, binder.norm(i, kAttentionNormName, hidden));
    LOCKSTEP_ASSIGN_OR_RETURN(l.qkv, bind_qkv(binder, i));
    LOCKSTEP_ASSIGN_OR_RETURN(l.output, bind_attention_output(binder, i));
    LOCKSTEP_ASSIGN_OR_RETURN(l.mlp_norm, binder.norm(i, kMlpNormName, hidden));
    LOCKSTEP_ASSIGN_OR_RETURN(l.gate_up, bind_gate_up(binder, i));
    LOCKSTEP_ASSIGN_OR_RETURN(l.down, bind_down(binder, i));
    return l;
  }

  void declare_state() {
    const int count = static_cast<int>(config_.layers);
    layout_.groups = {{.kind = StateKind::kFull,
                       .window = 0,
                       .layers = count,
                       .kv_heads = static_cast<int>(config_.kv_heads),
                       .k_head_size = static_cast<int>(config_.head_size),
                       .v_head_size = static_cast<int>(config_.head_size)}};
    for (int i = 0; i < count; ++i) layout_.layers.push_back({.group = 0, .index = i});
  }

  void layers(const device::StepView& step, device::PagePool& pool) override {
    device::Device& d = device_;
    for (size_t i = 0; i < layers_.size(); ++i) {
      const Layer& l = layers_[i];
      const StateLayer state = layout_.layers[i];

      d.rms_norm(step, RowSet::kAll, *x_, *l.attention_norm, eps_, *h_);
      d.linear(step, RowSet::kAll, *l.qkv, *h_, *qkv_);
      d.rope_and_append(step, rope_.get(), pool, state, q_, k_, v_);
      d.attend(step, pool, state, attend_, q_, *attended_);
      d.linear(step, RowSet::kAll, *l.output, *attended_, *h_);
      d.add(step, *x_, *h_);

      d.rms_norm(step, RowSet::kAll, *x_, *l.mlp_norm, eps_, *h_);
      d.linear(step, RowSet::kAll, *l.gate_up, *h_, *gate_up_);
      d.gated_activation(step, GatedActivation::kSilu, gate_, up_, gate_);
      d.linear(step, RowSet::kAll, *l.down, gate_, *h_);
      d.add(step, *x_, *h_);
    }
  }

  std::vector<Layer> layers_;
  std::unique_ptr<device::RopePlan> rope_;
  device::AttendSpec attend_;
};

}  // namespace

StatusOr<std::unique_ptr<Model>> build_llama(const formats::Checkpoint& checkpoint,
                                             Vocabulary vocabulary, device::Device& device,
                                             const BuildOptions& options) {
  auto model = std::make_unique<Llama>(checkpoint.config(), vocabulary, device, options);
  LOCKSTEP_RETURN_IF_ERROR(model->bind(checkpoint));
  return model;
}

}  // namespace lockstep::model
