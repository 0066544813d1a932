// What a client asks of the engine, checked once where it enters: a Request cannot hold a value
// that the engine could not serve, apart from being too large for the pages of a certain pool.
//
// Thread rule: immutable values.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/sampling.h"
#include "base/status.h"
#include "base/vocabulary.h"

namespace lockstep::engine {

// As a route read it. Token ids have been admitted; numbers have not been looked at.
struct RequestFields {
  std::vector<TokenId> prompt;
  int64_t max_tokens = 0;  // 0 only with prompt_logprobs
  int64_t min_tokens = 0;  // stop ids and stop strings count from this many tokens on
  int64_t choices = 1;
  int64_t first_choice = 0;  // index of the first one in the client's whole reply

  SamplingFields sampling;       // but its seed:
  std::optional<uint64_t> seed;  // none: one is drawn, and returned
  double repetition_penalty = 1.0;
  double frequency_penalty = 0.0;
  double presence_penalty = 0.0;
  int64_t penalty_window = -1;  // tokens looked back at; -1: all
  std::vector<TokenBias> biases;
  std::optional<std::vector<TokenId>> allowed;

  std::vector<TokenId> stop_ids;  // the stop id ends a choice and is its last token
  std::vector<std::string> stop_strings;
  bool include_stop_string = false;

  std::optional<int64_t> logprobs;  // of drawn tokens, with this many of the likeliest
  bool prompt_logprobs = false;     // of the prompt's tokens but the first, with as many
  bool digest = false;              // a digest over all rows of logits drawn from

  std::string cache_salt;  // prefixes are shared among equal salts only
  int64_t priority = 0;
  std::optional<std::chrono::steady_clock::time_point> deadline;
};

// What a request may ask of this model and engine.
struct RequestLimits {
  Vocabulary vocabulary;
  int max_positions = 0;  // prompt and reply
  int max_choices = 1;
};

class Request {
 public:
  static constexpr size_t kMaxStopStrings = 64;
  static constexpr size_t kMaxStopStringBytes = 1024;
  static constexpr size_t kMaxStopIds = 1024;
  static constexpr size_t kMaxBiases = 8192;
  static constexpr int kMaxTopLogprobs = 20;
  static constexpr size_t kMaxSaltBytes = 256;

  // invalid_argument naming the field, its value and what is allowed.
  static StatusOr<Request> create(RequestFields fields, const RequestLimits& limits);

  const std::vector<TokenId>& prompt() const { return fields_.prompt; }
  int max_tokens() const { return static_cast<int>(fields_.max_tokens); }
  int min_tokens() const { return static_cast<int>(fields_.min_tokens); }
  int choices() const { return static_cast<int>(fields_.choices); }
  // Positions that a choice comes to have; its last token needs none.
  int max_positions() const { return max_positions_; }
  uint64_t seed() const { return *fields_.seed; }
  // Of choice i of this request.
  SamplingParams sampling(int choice) const;
  bool has_penalties() const;
  // Without used tokens and bans.
  LogitEdits edits() const;
  // How far back penalties look; INT_MAX: to the start.
  int penalty_window() const;
  const std::vector<TokenId>& stop_ids() const { return fields_.stop_ids; }
  const std::vector<std::string>& stop_strings() const { return fields_.stop_strings; }
  bool include_stop_string() const { return fields_.include_stop_string; }
  bool wants_logprobs() const { return fields_.logprobs.has_value(); }
  bool wants_prompt_logprobs() const { return fields_.prompt_logprobs; }
  int top_logprobs() const { return static_cast<int>(fields_.logprobs.value_or(0)); }
  bool wants_digest() const { return fields_.digest; }
  const std::string& cache_salt() const { return fields_.cache_salt; }
  int priority() const { return static_cast<int>(fields_.priority); }
  const std::optional<std::chrono::steady_clock::time_point>& deadline() const {
    return fields_.deadline;
  }

 private:
  Request(RequestFields fields, const RequestLimits& limits, int max_positions);

  RequestFields fields_;
  int max_positions_;
  std::optional<TokenSet> allowed_;
};

}  // namespace lockstep::engine
