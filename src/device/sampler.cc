#include "device/sampler.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "base/math.h"
#include "base/rng.h"

namespace lockstep::device {
namespace {

struct Candidate {
  float logit;
  int32_t id;
  float p = 0.0f;  // relative to the largest, whose p is 1
};

// The order of docs/numerics.md.
bool before(const Candidate& a, const Candidate& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

bool by_id(const Candidate& a, const Candidate& b) { return a.id < b.id; }

int32_t arg_max(std::span<const float> logits) {
  int32_t best = -1;
  for (int32_t id = 0; id < static_cast<int32_t>(logits.size()); ++id) {
    if (std::isnan(logits[id])) continue;
    if (best < 0 || logits[id] > logits[best]) best = id;
  }
  return std::max(best, 0);
}

// The first k in order, ids ascending; all that are not NaN when k is 0. Holds at most 2 k at a
// time: whenever they are reached, the later half goes and what remains sets the bar.
std::vector<Candidate> top_k(std::span<const float> logits, int32_t top_k) {
  const size_t k = top_k == 0 ? logits.size() : std::min<size_t>(top_k, logits.size());
  std::vector<Candidate> kept;
  kept.reserve(std::min(2 * k, logits.size()));
  float bar = 0.0f;
  bool has_bar = false;
  const auto cut = [&] {
    std::nth_element(kept.begin(), kept.begin() + (k - 1), kept.end(), before);
    kept.resize(k, {});
    bar = kept.back().logit;
    has_bar = true;
  };
  for (int32_t id = 0; id < static_cast<int32_t>(logits.size()); ++id) {
    const float logit = logits[id];
    // Equal to the bar: every kept id is lower, so this one is later in order.
    if (std::isnan(logit) || (has_bar && logit <= bar)) continue;
    kept.push_back({.logit = logit, .id = id});
    if (kept.size() == 2 * k) cut();
  }
  if (kept.size() > k) cut();
  if (has_bar) std::sort(kept.begin(), kept.end(), by_id);
  return kept;
}

// Sets p; their sum in 16 lanes over the ids.
float weigh(std::vector<Candidate>& ids, float temperature) {
  const float largest = std::min_element(ids.begin(), ids.end(), before)->logit / temperature;
  std::array<float, 16> lanes{};
  for (Candidate& c : ids) {
    const float x = c.logit / temperature;
    c.p = x == largest ? 1.0f : exp_f32(x - largest);
    lanes[c.id % 16] += c.p;
  }
  for (int half : {8, 4, 2, 1}) {
    for (int j = 0; j < half; ++j) lanes[j] += lanes[j + half];
  }
  return lanes[0];
}

// Keeps the shortest prefix in order whose sum reaches `wanted`. Sorted in growing pieces: the
// prefix is short as a rule.
void keep_nucleus(std::vector<Candidate>& ids, float wanted) {
  float sum = 0.0f;
  size_t sorted = 0;
  for (size_t piece = 64; sorted < ids.size(); piece *= 4) {
    const auto begin = ids.begin() + sorted;
    const auto end = ids.begin() + std::min(sorted + piece, ids.size());
    if (end != ids.end()) std::nth_element(begin, end, ids.end(), before);
    std::sort(begin, end, before);
    for (auto it = begin; it != end; ++it) {
      sum += it->p;
      if (sum >= wanted) {
        ids.resize(it - ids.begin() + 1, {});
        return;
      }
    }
    sorted = end - ids.begin();
  }
}

// Arg-max of x + gumbel noise over the ids offered, in any order.
class Draw {
 public:
  Draw(uint64_t seed, int32_t position)
      : row_(mix64(seed + kGoldenGamma * (static_cast<uint64_t>(position) + 1))) {}

  void offer(int32_t id, float x) {
    const uint64_t h = mix64(row_ + kGoldenGamma * (static_cast<uint64_t>(id) + 1));
    const auto wide = static_cast<double>(x);
    if (best_ >= 0 && wide + gumbel_bound(h) < score_) return;
    const double score = wide + gumbel(h);
    if (best_ < 0 || score > score_ || (score == score_ && id < best_)) {
      best_ = id;
      score_ = score;
    }
  }

  int32_t best() const { return best_; }

 private:
  static double gumbel(uint64_t h) {
    const double u = (static_cast<double>(h >> 12) + 0.5) * 0x1p-52;  // exact, in (0, 1)
    return -log_f64(-log_f64(u));
  }

  // Above gumbel(h), and cheap. k leading ones and a zero: 1 - u > 2^-(k + 1), and -log(u) >= 1 -
  // u.
  static double gumbel_bound(uint64_t h) {
    constexpr double kLn2 = 0.6931471805599453;
    return (std::countl_one(h) + 1) * kLn2 + 1e-6;
  }

  uint64_t row_;
  int32_t best_ = -1;
  double score_ = 0.0;
};

}  // namespace

TokenId sample_row(std::span<const float> logits, const SamplingParams& params, int32_t position) {
  const float temperature = params.temperature();
  if (temperature == 0.0f) return SampledToken::from_logit_index(arg_max(logits));

  std::vector<Candidate> ids = top_k(logits, params.top_k());
  if (ids.empty()) return SampledToken::from_logit_index(0);
  if (params.top_p() < 1.0f || params.min_p() > 0.0f) {
    const float all = weigh(ids, temperature);
    if (params.top_p() < 1.0f) keep_nucleus(ids, params.top_p() * all);
    std::erase_if(ids, [&](const Candidate& c) { return c.p < params.min_p(); });
  }
  Draw draw(params.seed(), position);
  for (const Candidate& c : ids) draw.offer(c.id, c.logit / temperature);
  return SampledToken::from_logit_index(draw.best());
}

}  // namespace lockstep::device
