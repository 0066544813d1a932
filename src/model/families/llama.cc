// Llama and what shares its shape: attention, then a gated MLP, each over the norm of the residual
// stream. What tells the families apart is in the config, which the blocks follow:
//   llama    (https://arxiv.org/abs/2302.13971) Llama 2 and 3, SmolLM2, GGUF files of Mistral
//   mistral  (https://arxiv.org/abs/2310.06825) a window on every layer
//   qwen2    (https://arxiv.org/abs/2407.10671) biases on q, k and v
//   qwen3    (https://arxiv.org/abs/2505.09388) a norm of every head of q and k
#include "model/attention.h"
#include "model/decoder.h"
#include "model/families/families.h"
#include "model/gated_mlp.h"
#include "model/rope.h"

namespace lockstep::model {
namespace {

using device::RowSet;

constexpr TensorName kMlpNormName = {"post_attention_layernorm", "ffn_norm"};

class Llama final : public Decoder {
 public:
  using Decoder::Decoder;

 private:
  struct Layer {
    std::unique_ptr<device::Vector> attention_norm;  // [hidden]
    Attention::Weights attention;
    std::unique_ptr<device::Vector> mlp_norm;  // [hidden]
    GatedMlp::Weights mlp;
  };

  Status bind(WeightBinder& binder) override {
    LOCKSTEP_ASSIGN_OR_RETURN(rope_, device_.prepare_rope(rope_spec(config_.rope, config_)));
    layout_ = attention_state(config_);
    for (int i = 0; i < static_cast<int>(config_.layers); ++i) {
      Layer l;
      const int64_t hidden = config_.hidden_size;
      LOCKSTEP_ASSIGN_OR_RETURN(l.attention_norm, binder.norm(i, kAttentionNormName, hidden));
      LOCKSTEP_ASSIGN_OR_RETURN(l.attention, attention_.bind(binder, i));
      LOCKSTEP_ASSIGN_OR_RETURN(l.mlp_norm, binder.norm(i, kMlpNormName, hidden));
      LOCKSTEP_ASSIGN_OR_RETURN(l.mlp, mlp_.bind(binder, i));
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

      d.rms_norm(step, RowSet::kAll, *x_, *l.attention_norm, eps_, *h_);
      attention_.run(step, pool, layout_.layers[i], l.attention, *rope_, *h_);
      d.add(step, *x_, *h_);

      d.rms_norm(step, RowSet::kAll, *x_, *l.mlp_norm, eps_, *h_);
      mlp_.run(step, l.mlp, *h_);
      d.add(step, *x_, *h_);
    }
  }

  Attention attention_{config_, device_};
  GatedMlp mlp_{config_, device_};
  std::unique_ptr<device::RopePlan> rope_;
  std::vector<Layer> layers_;
};

}  // namespace

StatusOr<std::unique_ptr<Model>> build_llama(const BuildContext& context) {
  return build_decoder<Llama>(context);
}

}  // namespace lockstep::model
