#include "device/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "base/math.h"
#include "base/rng.h"
#include "base/thread_pool.h"

namespace lockstep::device {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class Sampler : public testing::Test {
 protected:
  static SamplingParams params(const SamplingFields& fields) {
    return SamplingParams::create(fields).value();
  }
  static int32_t draw(const std::vector<float>& logits, const SamplingFields& fields,
                      int32_t position = 0) {
    return sample_row(logits, params(fields), position).value();
  }
  // How often each id is drawn over `draws` positions.
  static std::vector<int> counts(const std::vector<float>& logits, const SamplingFields& fields,
                                 int draws) {
    std::vector<int> drawn(logits.size(), 0);
    for (int position = 0; position < draws; ++position) ++drawn[draw(logits, fields, position)];
    return drawn;
  }

 private:
  ComputeScope scope_;
};

// ---- The definition, word by word, with a full sort and no bounds.

int32_t by_definition(const std::vector<float>& logits, const SamplingParams& params,
                      int32_t position) {
  const auto n = static_cast<int32_t>(logits.size());
  std::vector<int32_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    if (std::isnan(logits[a]) || std::isnan(logits[b])) return !std::isnan(logits[a]);
    return logits[a] > logits[b];
  });
  if (std::isnan(logits[order[0]])) return 0;
  if (params.temperature() == 0.0f) return order[0];
  if (0 < params.top_k() && params.top_k() < n) order.resize(params.top_k());
  std::erase_if(order, [&](int32_t id) { return std::isnan(logits[id]); });

  const auto x = [&](int32_t id) { return logits[id] / params.temperature(); };
  std::vector<float> p(n, 0.0f);
  for (int32_t id : order) p[id] = x(id) == x(order[0]) ? 1.0f : exp_f32(x(id) - x(order[0]));
  if (params.top_p() < 1.0f) {
    std::array<float, 16> lanes{};
    for (int32_t id = 0; id < n; ++id) lanes[id % 16] += p[id];
    for (int half : {8, 4, 2, 1}) {
      for (int j = 0; j < half; ++j) lanes[j] += lanes[j + half];
    }
    const float wanted = params.top_p() * lanes[0];
    float sum = 0.0f;
    size_t kept = 0;
    while (kept < order.size() && sum < wanted) sum += p[order[kept++]];
    order.resize(kept);
  }
  std::erase_if(order, [&](int32_t id) { return p[id] < params.min_p(); });

  std::sort(order.begin(), order.end());
  const uint64_t row = mix64(params.seed() + kGoldenGamma * (uint64_t(position) + 1));
  int32_t best = -1;
  double best_score = 0.0;
  for (int32_t id : order) {
    const uint64_t h = mix64(row + kGoldenGamma * (uint64_t(id) + 1));
    const double u = (static_cast<double>(h >> 12) + 0.5) * 0x1p-52;
    const double score = static_cast<double>(x(id)) - log_f64(-log_f64(u));
    if (best < 0 || score > best_score) {
      best = id;
      best_score = score;
    }
  }
  return best;
}

// Logits on a coarse grid, so that ties are common; sometimes infinities and NaNs.
std::vector<float> random_row(CounterRng& rng) {
  std::vector<float> logits(1 + rng.below(rng.below(8) == 0 ? 3000 : 40));
  const int64_t grid = 1 + int64_t{rng.below(60)};
  const bool special = rng.below(4) == 0;
  for (float& x : logits) {
    x = static_cast<float>(rng.between(-grid, grid)) * 0.25f;
    if (special && rng.below(6) == 0) x = std::array{kNan, kInfinity, -kInfinity}[rng.below(3)];
  }
  return logits;
}

SamplingFields random_fields(CounterRng& rng) {
  SamplingFields fields;
  fields.temperature = std::array{0.0, 0.001, 0.5, 1.0, 1.7, 100.0}[rng.below(6)];
  fields.top_k = std::array<int64_t, 7>{-1, 0, 1, 2, 5, 40, 100000}[rng.below(7)];
  fields.top_p = std::array{1.0, 1.0, 0.001, 0.3, 0.9, 0.999}[rng.below(6)];
  fields.min_p = std::array{0.0, 0.0, 0.05, 0.5, 1.0}[rng.below(5)];
  fields.seed = rng.next();
  return fields;
}

TEST_F(Sampler, EqualsTheDefinitionOnRandomRows) {
  CounterRng rng(1);
  for (int i = 0; i < 6000; ++i) {
    const std::vector<float> logits = random_row(rng);
    const SamplingParams p = params(random_fields(rng));
    const auto position = static_cast<int32_t>(rng.below(1 << 20));
    ASSERT_EQ(sample_row(logits, p, position).value(), by_definition(logits, p, position))
        << "row " << i;
  }
}

TEST_F(Sampler, EqualsTheDefinitionOnAWideRow) {
  CounterRng rng(2);
  std::vector<float> logits(50000);
  for (float& x : logits) x = static_cast<float>(rng.between(-4000, 4000)) * 0x1p-9f;
  for (double top_p : {1.0, 0.5, 0.99}) {
    for (int64_t top_k : {0, 50, 20000}) {
      const SamplingParams p = params({.temperature = 1.0, .top_k = top_k, .top_p = top_p});
      EXPECT_EQ(sample_row(logits, p, 7).value(), by_definition(logits, p, 7));
    }
  }
}

// ---- Order, ties and odd rows

TEST_F(Sampler, GreedyTakesTheLowestOfEqualIds) {
  EXPECT_EQ(draw({1, 3, 3, 2}, {}), 1);
  EXPECT_EQ(draw({-0.0f, 0.0f}, {}), 0);
  EXPECT_EQ(draw({-kInfinity, -kInfinity}, {}), 0);
}

TEST_F(Sampler, NansAreNeverDrawn) {
  EXPECT_EQ(draw({kNan, -5, kNan}, {}), 1);
  EXPECT_EQ(draw({kNan, -kInfinity}, {}), 1);
  const std::vector<int> drawn = counts({kNan, 0, kNan, 0}, {.temperature = 100.0}, 200);
  EXPECT_EQ(drawn[0] + drawn[2], 0);
}

TEST_F(Sampler, ARowOfNansAloneGivesIdZero) {
  EXPECT_EQ(draw({kNan, kNan}, {}), 0);
  EXPECT_EQ(draw({kNan, kNan}, {.temperature = 1.0, .top_k = 1, .top_p = 0.5}), 0);
}

TEST_F(Sampler, AnInfiniteLogitWins) {
  for (double top_p : {1.0, 0.5}) {
    EXPECT_EQ(draw({1, kInfinity, 2}, {.temperature = 1.0, .top_p = top_p, .min_p = 0.1}), 1);
  }
}

TEST_F(Sampler, TopKCutsTiesAtTheLowestIds) {
  const std::vector<int> drawn =
      counts({0, 1, 1, 1, 0}, {.temperature = 1.0, .top_k = 2, .seed = 3}, 500);
  EXPECT_GT(drawn[1], 0);
  EXPECT_GT(drawn[2], 0);
  EXPECT_EQ(drawn[0] + drawn[3] + drawn[4], 0);
}

TEST_F(Sampler, TopPKeepsTheShortestPrefixThatReachesIt) {
  const float ln2 = 0.6931472f;  // p = 1, 1/2, 1/4: shares 4/7, 2/7, 1/7
  const std::vector<float> logits = {-2 * ln2, 0, -ln2};
  EXPECT_EQ(counts(logits, {.temperature = 1.0, .top_p = 0.57}, 300)[1], 300);
  const std::vector<int> two = counts(logits, {.temperature = 1.0, .top_p = 0.8}, 300);
  EXPECT_EQ(two[0], 0);
  EXPECT_GT(two[2], 0);
}

TEST_F(Sampler, MinPIsRelativeToTheLargest) {
  const std::vector<int> drawn =
      counts({0, -1, -3}, {.temperature = 1.0, .min_p = 0.1}, 300);  // p = 1, 0.37, 0.05
  EXPECT_GT(drawn[1], 0);
  EXPECT_EQ(drawn[2], 0);
}

// ---- The draw

// Pearson's statistic of `draws` draws against the exact probabilities.
double chi_square(const std::vector<int>& drawn, const std::vector<double>& weights) {
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  const double draws = std::accumulate(drawn.begin(), drawn.end(), 0.0);
  double sum = 0.0;
  for (size_t i = 0; i < drawn.size(); ++i) {
    const double expected = draws * weights[i] / all;
    sum += (drawn[i] - expected) * (drawn[i] - expected) / expected;
  }
  return sum;
}

TEST_F(Sampler, DrawsFollowTheSoftmax) {
  const std::vector<float> logits = {2, 1, 0, -1, -2, 0.5f, 0.25f, -3};
  for (double temperature : {0.7, 1.0, 3.0}) {
    std::vector<double> weights;
    for (float x : logits) weights.push_back(std::exp(x / temperature));
    for (uint64_t seed : {1, 2, 3}) {
      const std::vector<int> drawn =
          counts(logits, {.temperature = temperature, .seed = seed}, 40000);
      EXPECT_LT(chi_square(drawn, weights), 24.3);  // 7 degrees of freedom: 1 in 1000
    }
  }
}

TEST_F(Sampler, NeighbouringSeedsAndPositionsAreIndependent) {
  const std::vector<float> logits(4, 0.0f);
  std::vector<int> pairs(16 * 2, 0);
  for (int i = 0; i < 20000; ++i) {
    const auto seed = static_cast<uint64_t>(i);
    const int a = draw(logits, {.temperature = 1.0, .seed = seed}, 5);
    const int next_position = draw(logits, {.temperature = 1.0, .seed = seed}, 6);
    const int next_seed = draw(logits, {.temperature = 1.0, .seed = seed + 1}, 5);
    ++pairs[a * 4 + next_position];
    ++pairs[16 + a * 4 + next_seed];
  }
  const std::vector<double> even(32, 1.0);
  EXPECT_LT(chi_square(pairs, even), 61.1);  // 31 degrees of freedom: 1 in 1000
}

TEST_F(Sampler, HasNoState) {
  CounterRng rng(5);
  const std::vector<float> logits = random_row(rng);
  const SamplingFields fields = {.temperature = 1.5, .seed = 11};
  std::vector<int32_t> forward;
  for (int position = 0; position < 50; ++position) {
    forward.push_back(draw(logits, fields, position));
  }
  for (int position = 49; position >= 0; --position) {
    EXPECT_EQ(draw(logits, fields, position), forward[position]);
  }
}

}  // namespace
}  // namespace lockstep::device
