// Unicode normalisation of text before it is cut into words.
//
// Thread rule: pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "formats/tokenizer_spec.h"

namespace lockstep::text {

// All steps in order. Code points that Unicode 15 does not know stay as they are. REQUIRES valid
// UTF-8.
StatusOr<std::string> normalize(std::string_view utf8,
                                std::span<const formats::Normalization> steps);

}  // namespace lockstep::text
