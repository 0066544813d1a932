#include "device/sampler.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "base/math.h"
#include "base/rng.h"
#include "device/logit_edits.h"

namespace lockstep::device {
namespace {

struct Candidate {
  float logit = 0.0f;
  int32_t id = 0;
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

// The first k, in no order, of n candidates at(0), at(1), ... that come with ids ascending; NaN
// logits are left out. Holds 2 k at a time: when they are there, the later half in order goes and
// the last of the rest sets the bar.
template <class At>
std::vector<Candidate> first_in_order(size_t n, size_t k, const At& at) {
  std::vector<Candidate> kept;
  kept.reserve(std::min(2 * k, n));
  bool has_bar = false;
  float bar = 0.0f;
  const auto cut = [&] {
    std::nth_element(kept.begin(), kept.begin() + (k - 1), kept.end(), before);
    kept.resize(k);
    bar = kept.back().logit;
    has_bar = true;
  };
  for (size_t i = 0; i < n; ++i) {
    const Candidate c = at(i);
    // Equal to the bar is later in order: every kept id is lower.
    if (std::isnan(c.logit) || (has_bar && c.logit <= bar)) continue;
    kept.push_back(c);
    if (kept.size() == 2 * k) cut();
  }
  if (kept.size() > k) cut();
  return kept;
}

// Ids ascending; all that are not NaN when k is 0.
std::vector<Candidate> top_k(std::span<const float> logits, int32_t k) {
  const size_t n = logits.size();
  const size_t limit = k == 0 ? n : std::min<size_t>(k, n);
  std::vector<Candidate> kept = first_in_order(n, limit, [&](size_t i) {
    return Candidate{.logit = logits[i], .id = static_cast<int32_t>(i)};
  });
  if (limit < n) std::sort(kept.begin(), kept.end(), by_id);
  return kept;
}

// Sets p; their sum in 16 lanes over the ids.
float weigh(std::vector<Candidate>& ids, float temperature, ExpRow exp) {
  const float largest = std::min_element(ids.begin(), ids.end(), before)->logit / temperature;
  std::vector<float> p;
  p.reserve(ids.size());
  for (const Candidate& c : ids) {
    const float x = c.logit / temperature;
    p.push_back(x == largest ? 0.0f : x - largest);  // also where both are infinite
  }
  exp(p.data(), static_cast<int64_t>(p.size()));
  std::array<float, 16> lanes{};
  for (size_t i = 0; i < ids.size(); ++i) {
    ids[i].p = p[i];
    lanes[ids[i].id % 16] += p[i];
  }
  for (int half : {8, 4, 2, 1}) {
    for (int j = 0; j < half; ++j) lanes[j] += lanes[j + half];
  }
  return lanes[0];
}

// The shortest prefix in order whose sum reaches `wanted`, else all. Short as a rule, so it is
// looked for among the first few, then among more.
std::vector<Candidate> nucleus(const std::vector<Candidate>& ids, float wanted) {
  for (size_t k = 64;; k *= 16) {
    std::vector<Candidate> first =
        first_in_order(ids.size(), std::min(k, ids.size()), [&](size_t i) { return ids[i]; });
    std::sort(first.begin(), first.end(), before);
    float sum = 0.0f;
    size_t taken = 0;
    while (taken < first.size() && sum < wanted) sum += first[taken++].p;
    if (sum >= wanted || taken == ids.size()) {
      first.resize(taken);
      return first;
    }
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

// Without filters there is nothing to list: a quarter of the time.
TokenId draw_from_all(std::span<const float> logits, const SamplingParams& params,
                      int32_t position) {
  Draw draw(params.seed(), position);
  for (size_t id = 0; id < logits.size(); ++id) {
    if (std::isnan(logits[id])) continue;
    draw.offer(static_cast<int32_t>(id), logits[id] / params.temperature());
  }
  return SampledToken::from_logit_index(std::max(draw.best(), 0));
}

}  // namespace

void exp_row(float* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] = exp_f32(x[i]);
}

TokenId sample_row(std::span<const float> logits, const SamplingParams& params, int32_t position,
                   ExpRow exp) {
  const float temperature = params.temperature();
  if (temperature == 0.0f) return SampledToken::from_logit_index(arg_max(logits));

  if (params.top_k() == 0 && params.top_p() == 1.0f && params.min_p() == 0.0f) {
    return draw_from_all(logits, params, position);
  }
  std::vector<Candidate> ids = top_k(logits, params.top_k());
  if (ids.empty()) return SampledToken::from_logit_index(0);
  if (params.top_p() < 1.0f || params.min_p() > 0.0f) {
    const float all = weigh(ids, temperature, exp);
    if (params.top_p() < 1.0f) ids = nucleus(ids, params.top_p() * all);
    std::erase_if(ids, [&](const Candidate& c) { return c.p < params.min_p(); });
  }
  Draw draw(params.seed(), position);
  for (const Candidate& c : ids) draw.offer(c.id, c.logit / temperature);
  return SampledToken::from_logit_index(draw.best());
}

TokenId sample_row(std::span<const float> logits, const RowSampling& sampling, int32_t position,
                   ExpRow exp) {
  if (sampling.edits.none()) return sample_row(logits, sampling.params, position, exp);
  std::vector<float> edited(logits.begin(), logits.end());
  apply_edits(sampling.edits, edited);
  const TokenId token = sample_row(edited, sampling.params, position, exp);
  if (!std::isnan(edited[static_cast<size_t>(token.value())])) return token;
  return last_resort(sampling.edits, static_cast<int32_t>(edited.size()));
}

}  // namespace lockstep::device
