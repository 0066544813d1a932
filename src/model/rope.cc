#include "model/rope.h"

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

struct Scale {
  double frequency;
  size_t pair;

  double operator()(std::monostate) const { return frequency; }
  double operator()(const formats::RopeLinear& rule) const { return frequency / rule.factor; }
  double operator()(const formats::RopeLlama3& rule) const { return scale_llama3(frequency, rule); }
  double operator()(const formats::RopeFactors& rule) const {
    return frequency / static_cast<double>(rule.divisors[pair]);
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
    spec.inverse_frequencies.push_back(
        static_cast<float>(std::visit(Scale{frequency, static_cast<size_t>(i)}, rope.scaling)));
  }
  return spec;
}

}  // namespace lockstep::model
