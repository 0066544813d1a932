// The builders of all families, for the registry.
#pragma once

#include <memory>

#include "model/model.h"

namespace lockstep::model {

struct BuildContext {
  const formats::Checkpoint& checkpoint;
  Vocabulary vocabulary;
  device::Device& device;
  const BuildOptions& options;
};

using Builder = StatusOr<std::unique_ptr<Model>> (*)(const BuildContext& context);

StatusOr<std::unique_ptr<Model>> build_llama(const BuildContext& context);
StatusOr<std::unique_ptr<Model>> build_gemma(const BuildContext& context);

}  // namespace lockstep::model
