// What a request does to its logits before a token is drawn: docs/numerics.md, Sampling.
#pragma once

#include <span>

#include "base/sampling.h"

namespace lockstep::device {

// In place, in the order of LogitEdits. An id that may not be drawn becomes NaN.
void apply_edits(const LogitEdits& edits, std::span<float> logits);

// What is drawn where no id is left with a logit: the lowest that is allowed and not banned, else
// the lowest that is allowed.
TokenId last_resort(const LogitEdits& edits, int32_t vocabulary);

}  // namespace lockstep::device
