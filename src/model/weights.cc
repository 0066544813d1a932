#include "model/weights.h"

#include <array>

#include "device/quant_blocks.h"

namespace lockstep::model {
namespace {

using formats::WeightLayout;

// Text models, and text models inside multimodal ones by old and new names.
constexpr std::array<std::string_view, 3> kPrefixes = {"model.", "language_model.model.",
                                                       "model.language_model."};

// What files carry that this program has no use for: tables that rope computes, GGUF's rope
// divisors (read with the config), and the other towers of a multimodal checkpoint.
bool is_no_weight_of_ours(std::string_view name) {
  return name.ends_with(".rotary_emb.inv_freq") || name == "rope_freqs.weight" ||
         name.find("vision_tower.") != std::string_view::npos ||
         name.find("multi_modal_projector.") != std::string_view::npos;
}

bool is_gguf(const formats::Checkpoint& checkpoint) {
  return checkpoint.config().layout == WeightLayout::kGguf;
}

}  // namespace

StatusOr<WeightBinder> WeightBinder::create(const formats::Checkpoint& checkpoint,
                                            device::Device& device, float norm_offset) {
  if (is_gguf(checkpoint)) return WeightBinder(checkpoint, device, norm_offset, "");
  for (const std::string_view prefix : kPrefixes) {
    if (checkpoint.has(fmt::format("{}{}.weight", prefix, kEmbeddingName.hugging_face))) {
      return WeightBinder(checkpoint, device, norm_offset, std::string(prefix));
    }
  }
  return not_found("tensor {}{}.weight is missing", kPrefixes[0], kEmbeddingName.hugging_face);
}

std::string WeightBinder::full_name(int layer, TensorName name, std::string_view suffix) const {
  if (is_gguf(*checkpoint_)) {
    return layer == kNoLayer ? fmt::format("{}.{}", name.ggml, suffix)
                             : fmt::format("blk.{}.{}.{}", layer, name.ggml, suffix);
  }
  if (layer != kNoLayer) {
    return fmt::format("{}layers.{}.{}.{}", prefix_, layer, name.hugging_face, suffix);
  }
  if (name.hugging_face != kHeadName.hugging_face) {
    return fmt::format("{}{}.{}", prefix_, name.hugging_face, suffix);
  }
  // The head stands beside the decoder, not in it: "language_model.model." -> "language_model."
  const std::string_view outside =
      std::string_view(prefix_).substr(0, prefix_ == "language_model.model." ? 15 : 0);
  return fmt::format("{}{}.{}", outside, name.hugging_face, suffix);
}

StatusOr<TensorView> WeightBinder::tensor(const std::string& name, const Shape& expected) {
  LOCKSTEP_ASSIGN_OR_RETURN(TensorView view, checkpoint_->tensor(name));
  if (view.shape != expected) {
    return invalid_argument("tensor {} has shape {}; the config asks for {}", name,
                            shape_string(view.shape), shape_string(expected));
  }
  if (!device::is_matrix_type(view.dtype)) {
    return unimplemented("tensor {} is {}; weights are F32, F16, BF16 or block types", name,
                         dtype_name(view.dtype));
  }
  bound_.insert(name);
  return view;
}

StatusOr<std::unique_ptr<device::LinearPlan>> WeightBinder::linear(
    int layer, std::span<const Matrix> stacked) {
  std::vector<device::LinearWeight> weights;
  std::vector<std::string> names;
  for (const Matrix& m : stacked) {
    device::LinearWeight weight;
    names.push_back(full_name(layer, m.name, "weight"));
    LOCKSTEP_ASSIGN_OR_RETURN(weight.weight, tensor(names.back(), {m.outputs, m.inputs}));
    if (m.bias) {
      names.push_back(full_name(layer, m.name, "bias"));
      LOCKSTEP_ASSIGN_OR_RETURN(weight.bias, tensor(names.back(), {m.outputs}));
    }
    weights.push_back(std::move(weight));
  }
  auto plan = device_->prepare(weights);
  if (!plan.ok()) return annotate(plan.status(), names.front());
  for (const std::string& name : names) checkpoint_->release(name);
  if (layer != kNoLayer) layer_bytes_ += (*plan)->bytes();
  return plan;
}

StatusOr<std::unique_ptr<device::Vector>> WeightBinder::norm(int layer, TensorName name,
                                                             int64_t size) {
  LOCKSTEP_ASSIGN_OR_RETURN(const TensorView view,
                            tensor(full_name(layer, name, "weight"), {size}));
  std::vector<float> values(static_cast<size_t>(size));
  device::dequantise(view.dtype, view.bytes.data(), values);
  if (norm_offset_ != 0.0f) {
    for (float& v : values) v += norm_offset_;
  }
  return device_->upload(values);
}

Status WeightBinder::leave_aside(const Matrix& matrix) {
  const std::string name = full_name(kNoLayer, matrix.name, "weight");
  if (!checkpoint_->has(name)) return ok_status();
  return tensor(name, {matrix.outputs, matrix.inputs}).status();
}

Status WeightBinder::finish() const {
  for (const std::string& name : checkpoint_->tensor_names()) {
    if (bound_.contains(name) || is_no_weight_of_ours(name)) continue;
    return invalid_argument("tensor {} belongs to no part of a {} model of {} layers", name,
                            checkpoint_->config().family, checkpoint_->config().layers);
  }
  return ok_status();
}

}  // namespace lockstep::model
