#include "base/sampling.h"

#include "base/rng.h"

namespace lockstep {

StatusOr<SamplingParams> SamplingParams::create(const SamplingFields& fields) {
  constexpr double kMinTemperature = 1e-3;
  constexpr double kMaxTemperature = 100.0;
  const double t = fields.temperature;
  if (!(t == 0.0 || (kMinTemperature <= t && t <= kMaxTemperature))) {
    return invalid_argument("temperature {} is neither 0 (greedy) nor in [{}, {}]", t,
                            kMinTemperature, kMaxTemperature);
  }
  if (!(-1 <= fields.top_k && fields.top_k <= INT32_MAX)) {
    return invalid_argument("top_k {} is outside [-1, {}] (0 and -1: off)", fields.top_k,
                            INT32_MAX);
  }
  if (!(0.0 < fields.top_p && fields.top_p <= 1.0)) {
    return invalid_argument("top_p {} is outside (0, 1] (1: off)", fields.top_p);
  }
  if (!(0.0 <= fields.min_p && fields.min_p <= 1.0)) {
    return invalid_argument("min_p {} is outside [0, 1] (0: off)", fields.min_p);
  }
  SamplingParams out;
  out.temperature_ = static_cast<float>(t);
  out.top_k_ = fields.top_k == -1 ? 0 : static_cast<int32_t>(fields.top_k);
  out.top_p_ = static_cast<float>(fields.top_p);
  out.min_p_ = static_cast<float>(fields.min_p);
  out.seed_ = fields.seed;
  return out;
}

uint64_t choice_seed(uint64_t seed, int choice) {
  if (choice == 0) return seed;
  return mix64(seed + kGoldenGamma * static_cast<uint64_t>(choice));
}

}  // namespace lockstep
