#include "model/gated_mlp.h"

namespace lockstep::model {

using device::GatedActivation;
using device::RowSet;
using device::View;
using formats::HiddenActivation;
using formats::ModelConfig;

StatusOr<GatedMlp::Weights> GatedMlp::bind(WeightBinder& binder, int layer) const {
  Weights w;
  const ModelConfig& c = config_;
  const Matrix gate_up[] = {{kGateName, c.intermediate_size, c.hidden_size, c.mlp_bias},
                            {kUpName, c.intermediate_size, c.hidden_size, c.mlp_bias}};
  LOCKSTEP_ASSIGN_OR_RETURN(w.gate_up, binder.linear(layer, gate_up));
  LOCKSTEP_ASSIGN_OR_RETURN(
      w.down, binder.linear(layer, {kDownName, c.hidden_size, c.intermediate_size, c.mlp_bias}));
  return w;
}

Status GatedMlp::allocate(int max_rows) {
  const int inner = static_cast<int>(config_.intermediate_size);
  LOCKSTEP_ASSIGN_OR_RETURN(gate_up_, device_.alloc(max_rows, 2 * inner));
  gate_ = View(*gate_up_, 0, inner);
  up_ = View(*gate_up_, inner, inner);
  return ok_status();
}

void GatedMlp::run(const device::StepView& step, const Weights& w, View h) const {
  const auto activation = config_.activation == HiddenActivation::kSilu
                              ? GatedActivation::kSilu
                              : GatedActivation::kGeluTanh;
  device_.linear(step, RowSet::kAll, *w.gate_up, h, *gate_up_);
  device_.gated_activation(step, activation, gate_, up_, gate_);
  device_.linear(step, RowSet::kAll, *w.down, gate_, h);
}

}  // namespace lockstep::model
