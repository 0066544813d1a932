#include "device/logprobs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/math.h"

namespace lockstep::device {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

RowLogprobs::RowLogprobs(std::span<const float> logits, ExpRow exp)
    : logits_(logits), largest_(-kInfinity) {
  for (const float x : logits) {
    if (x > largest_) largest_ = x;
  }
  std::vector<float> p;
  p.reserve(logits.size());
  for (const float x : logits) {
    p.push_back(std::isnan(x) ? -kInfinity : (x == largest_ ? 0.0f : x - largest_));
  }
  exp(p.data(), static_cast<int64_t>(p.size()));
  std::array<float, 16> lanes{};
  for (size_t i = 0; i < p.size(); ++i) lanes[i % 16] += p[i];
  for (int half : {8, 4, 2, 1}) {
    for (int j = 0; j < half; ++j) lanes[j] += lanes[j + half];
  }
  log_sum_ = log_f32(lanes[0]);
}

float RowLogprobs::of(TokenId token) const {
  const float x = logits_[static_cast<size_t>(token.value())];
  if (std::isnan(x) || largest_ == -kInfinity) return -kInfinity;
  return (x == largest_ ? 0.0f : x - largest_) - log_sum_;
}

std::vector<TokenLogprob> RowLogprobs::top(int count) const {
  std::vector<int32_t> ids;
  ids.reserve(logits_.size());
  for (size_t id = 0; id < logits_.size(); ++id) {
    if (!std::isnan(logits_[id])) ids.push_back(static_cast<int32_t>(id));
  }
  const auto before = [&](int32_t a, int32_t b) {
    const float x = logits_[static_cast<size_t>(a)];
    const float y = logits_[static_cast<size_t>(b)];
    return x > y || (x == y && a < b);
  };
  const auto kept = std::min(ids.size(), static_cast<size_t>(std::max(count, 0)));
  std::partial_sort(ids.begin(), ids.begin() + static_cast<ptrdiff_t>(kept), ids.end(), before);
  std::vector<TokenLogprob> out;
  for (size_t i = 0; i < kept; ++i) {
    const TokenId token = SampledToken::from_logit_index(ids[i]);
    out.push_back({.token = token, .logprob = of(token)});
  }
  return out;
}

}  // namespace lockstep::device
