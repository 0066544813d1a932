// Gemma 2 and 3, text: attention, then a gated MLP, each normed before and after; most layers see a
// window. What tells the two apart is in the config, which the blocks follow:
//   gemma2  (https://arxiv.org/abs/2408.00118) soft caps on scores and logits
//   gemma3  (https://arxiv.org/abs/2503.19786) a norm of every head of q and k; layers with a
//   window
//           turn by a small rope base, the others by a large one
#include <cmath>

#include "model/attention.h"
#include "model/decoder.h"
#include "model/families/families.h"
#include "model/gated_mlp.h"
#include "model/rope.h"

namespace lockstep::model {
namespace {

using device::RowSet;
using formats::LayerKind;

constexpr TensorName kPostAttentionNormName = {"post_attention_layernorm", "post_attention_norm"};
constexpr TensorName kMlpNormName = {"pre_feedforward_layernorm", "ffn_norm"};
constexpr TensorName kPostMlpNormName = {"post_feedforward_layernorm", "post_ffw_norm"};

class Gemma final : public Decoder {
 public:
  using Decoder::Decoder;

 private:
  struct Layer {
    std::unique_ptr<device::Vector> attention_norm;  // [hidden]
    Attention::Weights attention;
    std::unique_ptr<device::Vector> post_attention_norm;  // [hidden]
    std::unique_ptr<device::Vector> mlp_norm;             // [hidden]
    GatedMlp::Weights mlp;
    std::unique_ptr<device::Vector> post_mlp_norm;  // [hidden]
  };

  Status bind(WeightBinder& binder) override {
    embedding_scale_ = std::sqrt(static_cast<float>(config_.hidden_size));
    LOCKSTEP_ASSIGN_OR_RETURN(global_rope_, device_.prepare_rope(rope_spec(config_.rope, config_)));
    LOCKSTEP_ASSIGN_OR_RETURN(local_rope_,
                              device_.prepare_rope(rope_spec(config_.rope_local, config_)));
    layout_ = attention_state(config_);
    for (int i = 0; i < static_cast<int>(config_.layers); ++i) {
      Layer l;
      const int64_t hidden = config_.hidden_size;
      LOCKSTEP_ASSIGN_OR_RETURN(l.attention_norm, binder.norm(i, kAttentionNormName, hidden));
      LOCKSTEP_ASSIGN_OR_RETURN(l.attention, attention_.bind(binder, i));
      LOCKSTEP_ASSIGN_OR_RETURN(l.post_attention_norm,
                                binder.norm(i, kPostAttentionNormName, hidden));
      LOCKSTEP_ASSIGN_OR_RETURN(l.mlp_norm, binder.norm(i, kMlpNormName, hidden));
      LOCKSTEP_ASSIGN_OR_RETURN(l.mlp, mlp_.bind(binder, i));
      LOCKSTEP_ASSIGN_OR_RETURN(l.post_mlp_norm, binder.norm(i, kPostMlpNormName, hidden));
      layers_.push_back(std::move(l));
    }
    return ok_status();
  }
  Status allocate_scratch() override {
    LOCKSTEP_RETURN_IF_ERROR(attention_.allocate(options().max_rows));
    return mlp_.allocate(options().max_rows);
  }

  void layers(const device::StepView& step, device::PagePool& pool) override {
    device::Device& d = device_;
    for (size_t i = 0; i < layers_.size(); ++i) {
      const Layer& l = layers_[i];
      const bool local = config_.layer_kinds[i] == LayerKind::kSliding;
      const device::RopePlan& rope = local ? *local_rope_ : *global_rope_;

      d.rms_norm(step, RowSet::kAll, *x_, *l.attention_norm, eps_, *h_);
      attention_.run(step, pool, layout_.layers[i], l.attention, rope, *h_);
      d.rms_norm(step, RowSet::kAll, *h_, *l.post_attention_norm, eps_, *h_);
      d.add(step, *x_, *h_);

      d.rms_norm(step, RowSet::kAll, *x_, *l.mlp_norm, eps_, *h_);
      mlp_.run(step, l.mlp, *h_);
      d.rms_norm(step, RowSet::kAll, *h_, *l.post_mlp_norm, eps_, *h_);
      d.add(step, *x_, *h_);
    }
  }

  Attention attention_{config_, device_};
  GatedMlp mlp_{config_, device_};
  std::unique_ptr<device::RopePlan> global_rope_;
  std::unique_ptr<device::RopePlan> local_rope_;
  std::vector<Layer> layers_;
};

}  // namespace

StatusOr<std::unique_ptr<Model>> build_gemma(const BuildContext& context) {
  // The definition multiplies norms by 1 + w; GGUF files hold the sum.
  const bool sums = context.checkpoint.config().layout == formats::WeightLayout::kGguf;
  return build_decoder<Gemma>(context, sums ? 0.0f : 1.0f);
}

}  // namespace lockstep::model
