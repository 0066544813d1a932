#include "model/rope.h"

#include <algorithm>
#include <cmath>

#include "base/math.h"

namespace lockstep::model {
namespace {

constexpr double kTwoPi = 6.283185307179586;

double scale_llama3(double frequency, const formats::RopeLlama3& rule) {
  const double wavelength = kTwoPi / frequency;
  const auto original = static_cast<double>(rule.original_max_positions);
  if (wavelength < original / rule.high_freq_factor) return frequency;
  if (wavelength > original / rule.low_freq_factor) return frequency / rule.factor;
  const double smooth = (original / wavelength - rule.low_freq_factor) /
                        (rule.high_freq_factor - rule.low_freq_factor);
  return (1.0 - smooth) * frequency / rule.factor + smooth * frequency;
}

// The pair, as a real number, that turns `turns` times within the original context.
double pair_of_turns(double turns, double theta, int64_t rotary_size,
                     const formats::RopeYarn& rule) {
  const auto original = static_cast<double>(rule.original_max_positions);
  return static_cast<double>(rotary_size) * log_f64(original / (turns * kTwoPi)) /
         (2.0 * log_f64(theta));
}

// Pairs below `low` keep their frequency, those above `high` are divided by the factor. The bounds
// and the least width of the blend are those of the paper's own code, which limits pairs to
// dimensions.
double scale_yarn(double frequency, int64_t pair, double theta, int64_t rotary_size,
                  const formats::RopeYarn& rule) {
  constexpr double kLeastWidth = 0.001;
  double low = pair_of_turns(rule.beta_fast, theta, rotary_size, rule);
  double high = pair_of_turns(rule.beta_slow, theta, rotary_size, rule);
  if (rule.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(rotary_size - 1));
  if (low == high) high += kLeastWidth;
  const double divided = std::clamp((static_cast<double>(pair) - low) / (high - low), 0.0, 1.0);
  return frequency / rule.factor * divided + frequency * (1.0 - divided);
}

struct Scale {
  double frequency;
  int64_t pair;
  double theta;
  int64_t rotary_size;

  double operator()(std::monostate) const { return frequency; }
  double operator()(const formats::RopeLinear& rule) const { return frequency / rule.factor; }
  double operator()(const formats::RopeLlama3& rule) const { return scale_llama3(frequency, rule); }
  double operator()(const formats::RopeFactors& rule) const {
    return frequency / static_cast<double>(rule.divisors[static_cast<size_t>(pair)]);
  }
  double operator()(const formats::RopeYarn& rule) const {
    return scale_yarn(frequency, pair, theta, rotary_size, rule);
  }
};

}  // namespace

device::RopeSpec rope_spec(const formats::RopeConfig& rope, int64_t rotary_size,
                           device::RopeStyle style) {
  device::RopeSpec spec;
  spec.style = style;
  for (int64_t i = 0; i < rotary_size / 2; ++i) {
    const double exponent = static_cast<double>(-2 * i) / static_cast<double>(rotary_size);
    const double frequency = pow_f64(rope.theta, exponent);
    const Scale scale = {frequency, i, rope.theta, rotary_size};
    spec.inverse_frequencies.push_back(static_cast<float>(std::visit(scale, rope.scaling)));
  }
  if (const auto* yarn = std::get_if<formats::RopeYarn>(&rope.scaling)) {
    spec.magnitude = static_cast<float>(yarn->attention_factor);
  }
  return spec;
}

device::RopeSpec rope_spec(const formats::RopeConfig& rope, const formats::ModelConfig& config) {
  return rope_spec(
      rope, config.rotary_size,
      config.rotary_interleaved ? device::RopeStyle::kInterleaved : device::RopeStyle::kHalf);
}

}  // namespace lockstep::model
