#include "model/model.h"

#include "device/linear_rule.h"
#include "model/families/families.h"

namespace lockstep::model {
namespace {

struct Family {
  std::string_view name;
  Builder build;
};

// By ModelConfig::family. Adding one: docs/adding_a_model.md.
constexpr Family kFamilies[] = {
    {"llama", build_llama}, {"mistral", build_llama}, {"qwen2", build_llama},
    {"qwen3", build_llama}, {"gemma2", build_gemma},  {"gemma3", build_gemma},
};

}  // namespace

StatusOr<std::unique_ptr<Model>> build_model(const formats::Checkpoint& checkpoint,
                                             device::Device& device, const BuildOptions& options) {
  const formats::ModelConfig& config = checkpoint.config();
  for (const Family& family : kFamilies) {
    if (family.name != config.family) continue;
    LOCKSTEP_ASSIGN_OR_RETURN(const Vocabulary vocabulary, Vocabulary::create(config.vocab_size));
    return family.build({checkpoint, vocabulary, device, options});
  }
  return unimplemented("family {} has no builder", config.family);
}

StatusOr<Arithmetic> default_arithmetic(const formats::Checkpoint& checkpoint) {
  bool all_fit_bf16 = true;
  for (const std::string& name : checkpoint.tensor_names()) {
    LOCKSTEP_ASSIGN_OR_RETURN(const TensorView view, checkpoint.tensor(name));
    if (view.shape.size() != 2) continue;
    if (dtype_info(view.dtype).quantised()) return Arithmetic::kInt8;
    const bool half = view.dtype == DType::kBF16 || view.dtype == DType::kF16;
    if (all_fit_bf16) all_fit_bf16 = half && device::fits_bf16(view);
  }
  return all_fit_bf16 ? Arithmetic::kBF16 : Arithmetic::kF32;
}

}  // namespace lockstep::model
