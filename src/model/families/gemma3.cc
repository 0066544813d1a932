// Gemma 3 text models (https://arxiv.org/abs/2503.19786): most layers see a window and turn by a
// small rope base, every sixth sees everything and turns by a large one; q and k are normed per
// head, and each block is normed before and after.
#include <cmath>

#include "model/decoder.h"
#include "model/families/families.h"
#include "model/rope.h"

namespace lockstep::model {
namespace {

using device::GatedActivation;
using device::RowSet;
using formats::LayerKind;

constexpr TensorName kQNormName = {"self_attn.q_norm", "attn_q_norm"};
constexpr TensorName kKNormName = {"self_attn.k_norm", "attn_k_norm"};
constexpr TensorName kPostAttentionNormName = {"post_attention_layernorm", "post_attention_norm"};
constexpr TensorName kMlpNormName = {"pre_feedforward_layernorm", "ffn_norm"};
constexpr TensorName kPostMlpNormName = {"post_feedforward_layernorm", "post_ffw_norm"};

class Gemma3 final : public Decoder {
 public:
  using Decoder::Decoder;

  Status bind(const formats::Checkpoint& checkpoint) {
    // The definition multiplies by 1 + w; GGUF files hold the sum.
    norm_offset_ = config_.layout == formats::WeightLayout::kGguf ? 0.0f : 1.0f;
    embedding_scale_ = std::sqrt(static_cast<float>(config_.hidden_size));
    LOCKSTEP_ASSIGN_OR_RETURN(WeightBinder binder, WeightBinder::create(checkpoint, device_));
    LOCKSTEP_RETURN_IF_ERROR(bind_ends(binder, norm_offset_));
    for (int i = 0; i < static_cast<int>(config_.layers); ++i) {
      LOCKSTEP_ASSIGN_OR_RETURN(Layer layer, bind_layer(binder, i));
      layers_.push_back(std::move(layer));
    }
    const auto rope = [&](const formats::RopeConfig& r) {
      return device_.prepare_rope(rope_spec(r, config_.rotary_size, device::RopeStyle::kHalf));
    };
    LOCKSTEP_ASSIGN_OR_RETURN(global_rope_, rope(config_.rope));
    LOCKSTEP_ASSIGN_OR_RETURN(local_rope_, rope(config_.rope_local));
    attend_ = {.heads = static_cast<int>(config_.heads),
               .scale = 1.0f / std::sqrt(static_cast<float>(config_.query_scale_size)),
               .soft_cap = static_cast<float>(config_.attention_soft_cap)};
    declare_state();
    return binder.finish();
  }

 private:
  struct Layer {
    std::unique_ptr<device::Vector> attention_norm;  // [hidden]
    std::unique_ptr<device::LinearPlan> qkv;
    std::unique_ptr<device::Vector> q_norm, k_norm;  // [head_size]
    std::unique_ptr<device::LinearPlan> output;
    std::unique_ptr<device::Vector> post_attention_norm;  // [hidden]
    std::unique_ptr<device::Vector> mlp_norm;             // [hidden]
    std::unique_ptr<device::LinearPlan> gate_up;
    std::unique_ptr<device::LinearPlan> down;
    std::unique_ptr<device::Vector> post_mlp_norm;  // [hidden]
  };

  StatusOr<Layer> bind_layer(WeightBinder& binder, int i) {
    Layer l;
    const auto norm = [&](TensorName name, int64_t size) {
      return binder.norm(i, name, size, norm_offset_);
    };
    const int64_t hidden = config_.hidden_size;
    LOCKSTEP_ASSIGN_OR_RETURN(l.attention_norm, norm(kAttentionNormName, hidden));
    LOCKSTEP_ASSIGN_OR_RETURN(l.qkv, bind_qkv(binder, i));
    LOCKSTEP_ASSIGN_OR_RETURN(l.q_norm, norm(kQNormName, config_.head_size));
    LOCKSTEP_ASSIGN_OR_RETURN(l.k_norm, norm(kKNormName, config_.head_size));
    LOCKSTEP_ASSIGN_OR_RETURN(l.output, bind_attention_output(binder, i));
    LOCKSTEP_ASSIGN_OR_RETURN(l.post_attention_norm, norm(kPostAttentionNormName, hidden));
    LOCKSTEP_ASSIGN_OR_RETURN(l.mlp_norm, norm(kMlpNormName, hidden));
    LOCKSTEP_ASSIGN_OR_RETURN(l.gate_up, bind_gate_up(binder, i));
    LOCKSTEP_ASSIGN_OR_RETURN(l.down, bind_down(binder, i));
    LOCKSTEP_ASSIGN_OR_RETURN(l.post_mlp_norm, norm(kPostMlpNormName, hidden));
    return l;
  }

  // Two groups, so that pages behind a window can be given back.
  void declare_state() {
    LayerGroup full = {.kind = StateKind::kFull,
                       .window = 0,
                       .layers = 0,
                       .kv_heads = static_cast<int>(config_.kv_heads),
                       .k_head_size = static_cast<int>(config_.head_size),
                       .v_head_size = static_cast<int>(config_.head_size)};
    LayerGroup local = full;
    local.kind = StateKind::kWindow;
    local.window = static_cast<int>(config_.sliding_window);
    LayerGroup* groups[] = {&full, &local};
    for (const LayerKind kind : config_.layer_kinds) {
      const int group = kind == LayerKind::kSliding ? 1 : 0;
      layout_.layers.push_back({.group = group, .index = groups[group]->layers++});
    }
    layout_.groups = {full, local};
  }

  void layers(const device::StepView& step, device::PagePool& pool) override {
    device::Device& d = device_;
    for (size_t i = 0; i < layers_.size(); ++i) {
      const Layer& l = layers_[i];
      const StateLayer state = layout_.layers[i];
      const bool local = config_.layer_kinds[i] == LayerKind::kSliding;
      const device::RopePlan* rope = local ? local_rope_.get() : global_rope_.get();

      d.rms_norm(step, RowSet::kAll, *x_, *l.attention_norm, eps_, *h_);
      d.linear(step, RowSet::kAll, *l.qkv, *h_, *qkv_);
      d.rms_norm(step, RowSet::kAll, q_, *l.q_norm, eps_, q_);
      d.rms_norm(step, RowSet::kAll, k_, *l.k_norm, eps_, k_);
      d.rope_and_append(step, rope, pool, state, q_, k_, v_);
      d.attend(step, pool, state, attend_, q_, *attended_);
      d.linear(step, RowSet::kAll, *l.output, *attended_, *h_);
      d.rms_norm(step, RowSet::kAll, *h_, *l.post_attention_norm, eps_, *h_);
      d.add(step, *x_, *h_);

      d.rms_norm(step, RowSet::kAll, *x_, *l.mlp_norm, eps_, *h_);
      d.linear(step, RowSet::kAll, *l.gate_up, *h_, *gate_up_);
      d.gated_activation(step, GatedActivation::kGeluTanh, gate_, up_, gate_);
      d.linear(step, RowSet::kAll, *l.down, gate_, *h_);
      d.rms_norm(step, RowSet::kAll, *h_, *l.post_mlp_norm, eps_, *h_);
      d.add(step, *x_, *h_);
    }
  }

  float norm_offset_ = 0.0f;
  std::vector<Layer> layers_;
  std::unique_ptr<device::RopePlan> global_rope_;
  std::unique_ptr<device::RopePlan> local_rope_;
  device::AttendSpec attend_;
};

}  // namespace

StatusOr<std::unique_ptr<Model>> build_gemma3(const formats::Checkpoint& checkpoint,
                                              Vocabulary vocabulary, device::Device& device,
                                              const BuildOptions& options) {
  auto model = std::make_unique<Gemma3>(checkpoint.config(), vocabulary, device, options);
  LOCKSTEP_RETURN_IF_ERROR(model->bind(checkpoint));
  return model;
}

}  // namespace lockstep::model
