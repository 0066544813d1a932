#include "engine/request.h"

#include <algorithm>
#include <climits>
#include <random>

namespace lockstep::engine {
namespace {

Status check_range(std::string_view name, int64_t value, int64_t low, int64_t high) {
  if (low <= value && value <= high) return ok_status();
  return invalid_argument("{} {} is outside [{}, {}]", name, value, low, high);
}

Status check_range(std::string_view name, double value, double low, double high) {
  if (low <= value && value <= high) return ok_status();
  return invalid_argument("{} {} is outside [{}, {}]", name, value, low, high);
}

Status check_count(std::string_view name, size_t count, size_t most) {
  if (count <= most) return ok_status();
  return invalid_argument("{} has {} entries; at most {} are allowed", name, count, most);
}

Status check_lengths(const RequestFields& f, const RequestLimits& limits) {
  if (f.prompt.empty()) {
    return invalid_argument("the prompt is empty; at least one token is needed");
  }
  if (f.prompt.size() > static_cast<size_t>(limits.max_positions)) {
    return invalid_argument("a prompt of {} tokens does not fit a context of {}", f.prompt.size(),
                            limits.max_positions);
  }
  LOCKSTEP_RETURN_IF_ERROR(
      check_range("max_tokens", f.max_tokens, f.prompt_logprobs ? 0 : 1, INT_MAX));
  LOCKSTEP_RETURN_IF_ERROR(check_range("min_tokens", f.min_tokens, 0, f.max_tokens));
  LOCKSTEP_RETURN_IF_ERROR(check_range("n", f.choices, 1, limits.max_choices));
  return check_range("first choice", f.first_choice, 0, INT_MAX);
}

Status check_edits(const RequestFields& f) {
  LOCKSTEP_RETURN_IF_ERROR(check_range("repetition_penalty", f.repetition_penalty, 0.01, 100.0));
  LOCKSTEP_RETURN_IF_ERROR(check_range("frequency_penalty", f.frequency_penalty, -2.0, 2.0));
  LOCKSTEP_RETURN_IF_ERROR(check_range("presence_penalty", f.presence_penalty, -2.0, 2.0));
  LOCKSTEP_RETURN_IF_ERROR(check_range("penalty window", f.penalty_window, -1, INT_MAX));
  LOCKSTEP_RETURN_IF_ERROR(check_count("logit_bias", f.biases.size(), Request::kMaxBiases));
  for (const TokenBias& bias : f.biases) {
    LOCKSTEP_RETURN_IF_ERROR(
        check_range("logit_bias", static_cast<double>(bias.bias), -100.0, 100.0));
  }
  if (f.allowed.has_value() && f.allowed->empty()) {
    return invalid_argument("allowed_token_ids is empty; at least one is needed");
  }
  return ok_status();
}

Status check_stops(const RequestFields& f) {
  LOCKSTEP_RETURN_IF_ERROR(check_count("stop_token_ids", f.stop_ids.size(), Request::kMaxStopIds));
  LOCKSTEP_RETURN_IF_ERROR(check_count("stop", f.stop_strings.size(), Request::kMaxStopStrings));
  for (const std::string& stop : f.stop_strings) {
    LOCKSTEP_RETURN_IF_ERROR(check_range("bytes of a stop string",
                                         static_cast<int64_t>(stop.size()), 1,
                                         Request::kMaxStopStringBytes));
  }
  return ok_status();
}

// The last one wins, as in a map; ids ascending.
void keep_last_of_each(std::vector<TokenBias>& biases) {
  std::ranges::reverse(biases);
  std::ranges::stable_sort(biases, [](const auto& a, const auto& b) { return a.token < b.token; });
  const auto rest = std::ranges::unique(biases, {}, &TokenBias::token);
  biases.erase(rest.begin(), rest.end());
}

uint64_t drawn_seed() {
  std::random_device random;
  return random();  // 32 bits: short enough to type again
}

}  // namespace

StatusOr<Request> Request::create(RequestFields fields, const RequestLimits& limits) {
  LOCKSTEP_RETURN_IF_ERROR(check_lengths(fields, limits));
  LOCKSTEP_RETURN_IF_ERROR(SamplingParams::create(fields.sampling).status());
  LOCKSTEP_RETURN_IF_ERROR(check_edits(fields));
  LOCKSTEP_RETURN_IF_ERROR(check_stops(fields));
  LOCKSTEP_RETURN_IF_ERROR(
      check_range("logprobs", fields.logprobs.value_or(0), 0, int64_t{kMaxTopLogprobs}));
  LOCKSTEP_RETURN_IF_ERROR(check_range("priority", fields.priority, -1000, 1000));
  if (fields.cache_salt.size() > kMaxSaltBytes) {
    return invalid_argument("cache_salt has {} bytes; at most {} are allowed",
                            fields.cache_salt.size(), kMaxSaltBytes);
  }
  keep_last_of_each(fields.biases);
  if (!fields.seed.has_value()) fields.seed = fields.sampling.temperature > 0 ? drawn_seed() : 0;
  const auto prompt = static_cast<int64_t>(fields.prompt.size());
  const int64_t wanted = prompt + std::max<int64_t>(fields.max_tokens - 1, 0);
  const auto positions = static_cast<int>(std::min<int64_t>(wanted, limits.max_positions));
  return Request(std::move(fields), limits, positions);
}

Request::Request(RequestFields fields, const RequestLimits& limits, int max_positions)
    : fields_(std::move(fields)), max_positions_(max_positions) {
  if (fields_.allowed.has_value()) allowed_.emplace(limits.vocabulary, *fields_.allowed);
}

SamplingParams Request::sampling(int choice) const {
  SamplingFields fields = fields_.sampling;
  fields.seed = choice_seed(seed(), static_cast<int>(fields_.first_choice) + choice);
  return SamplingParams::create(fields).value();  // checked by create
}

bool Request::has_penalties() const {
  return fields_.repetition_penalty != 1.0 || fields_.frequency_penalty != 0.0 ||
         fields_.presence_penalty != 0.0;
}

LogitEdits Request::edits() const {
  LogitEdits edits;
  edits.repetition = static_cast<float>(fields_.repetition_penalty);
  edits.frequency = static_cast<float>(fields_.frequency_penalty);
  edits.presence = static_cast<float>(fields_.presence_penalty);
  edits.biases = fields_.biases;
  if (allowed_.has_value()) edits.allowed = &*allowed_;
  return edits;
}

int Request::penalty_window() const {
  return fields_.penalty_window == -1 ? INT_MAX : static_cast<int>(fields_.penalty_window);
}

}  // namespace lockstep::engine
