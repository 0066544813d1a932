#include "device/logit_edits.h"

#include <algorithm>
#include <limits>

namespace lockstep::device {
namespace {

constexpr float kNever = std::numeric_limits<float>::quiet_NaN();

float penalised(const LogitEdits& edits, const TokenUse& use, float x) {
  if (edits.repetition != 1.0f) x = x > 0.0f ? x / edits.repetition : x * edits.repetition;
  if (use.in_reply == 0) return x;
  x = x - edits.frequency * static_cast<float>(use.in_reply);
  return x - edits.presence;
}

bool is_allowed(const LogitEdits& edits, int32_t id) {
  return edits.allowed == nullptr || edits.allowed->contains(id);
}

}  // namespace

void apply_edits(const LogitEdits& edits, std::span<float> logits) {
  const auto at = [&](TokenId token) -> float& {
    return logits[static_cast<size_t>(token.value())];
  };
  for (const TokenUse& use : edits.used) at(use.token) = penalised(edits, use, at(use.token));
  for (const TokenBias& bias : edits.biases) at(bias.token) += bias.bias;
  for (const TokenId token : edits.banned) at(token) = kNever;
  if (edits.allowed == nullptr) return;
  for (size_t id = 0; id < logits.size(); ++id) {
    if (!edits.allowed->contains(static_cast<int32_t>(id))) logits[id] = kNever;
  }
}

TokenId last_resort(const LogitEdits& edits, int32_t vocabulary) {
  int32_t first_allowed = -1;
  for (int32_t id = 0; id < vocabulary; ++id) {
    if (!is_allowed(edits, id)) continue;
    if (first_allowed < 0) first_allowed = id;
    const bool banned = std::ranges::find(edits.banned, id, &TokenId::value) != edits.banned.end();
    if (!banned) return SampledToken::from_logit_index(id);
  }
  return SampledToken::from_logit_index(std::max(first_allowed, 0));
}

}  // namespace lockstep::device
