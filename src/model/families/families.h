// The builders of all families, for the registry.
#pragma once

#include <memory>

#include "model/model.h"

namespace lockstep::model {

using Builder = StatusOr<std::unique_ptr<Model>> (*)(const formats::Checkpoint& checkpoint,
                                                     Vocabulary vocabulary, device::Device& device,
                                                     const BuildOptions& options);

StatusOr<std::unique_ptr<Model>> build_llama(const formats::Checkpoint&, Vocabulary,
                                             device::Device&, const BuildOptions&);
StatusOr<std::unique_ptr<Model>> build_gemma3(const formats::Checkpoint&, Vocabulary,
                                              device::Device&, const BuildOptions&);

}  // namespace lockstep::model
