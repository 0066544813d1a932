#include "bench/serving.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/rng.h"
#include "engine/engine.h"
#include "formats/json.h"

namespace lockstep::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kMostTokens = 1 << 20;
constexpr size_t kMostRequests = 100'000;

double seconds_between(Clock::time_point a, Clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

// Ids made from integers: equal groups begin alike.
StatusOr<std::vector<TokenId>> made_prompt(Vocabulary vocabulary, const TraceRequest& request,
                                           size_t index) {
  std::vector<TokenId> out;
  CounterRng shared(static_cast<uint64_t>(request.group));
  CounterRng own(mix64(index + 1));
  for (int i = 0; i < request.prompt_tokens; ++i) {
    CounterRng& rng = i < request.shared_tokens ? shared : own;
    const auto id = rng.below(static_cast<uint32_t>(vocabulary.size()));
    LOCKSTEP_ASSIGN_OR_RETURN(const TokenId token, vocabulary.admit(id));
    out.push_back(token);
  }
  return out;
}

// A request on its way.
struct Open {
  std::shared_ptr<engine::Stream> stream;
  Clock::time_point last;  // submission, then the last token
  bool has_token = false;
};

// Takes what has come; whether the request has ended.
StatusOr<bool> follow(Open& open, ServingResult& result) {
  while (const auto event = open.stream->try_next()) {
    LOCKSTEP_RETURN_IF_ERROR(event->error);
    if (!event->token.has_value()) continue;
    const auto now = Clock::now();
    (open.has_token ? result.between_token_seconds : result.first_token_seconds)
        .push_back(seconds_between(open.last, now));
    open.last = now;
    open.has_token = true;
    ++result.reply_tokens;
  }
  if (!open.stream->is_done()) return false;
  result.cached_tokens += open.stream->usage().cached_tokens;
  return true;
}

}  // namespace

StatusOr<std::vector<TraceRequest>> parse_trace(std::string_view json) {
  LOCKSTEP_ASSIGN_OR_RETURN(const formats::JsonValue value, formats::parse_json(json, {}));
  const formats::JsonArray* list = value.if_array();
  if (list == nullptr || list->empty() || list->size() > kMostRequests) {
    return invalid_argument("a trace is a list of 1 to {} requests", kMostRequests);
  }
  std::vector<TraceRequest> out;
  for (size_t i = 0; i < list->size(); ++i) {
    const formats::JsonArray* entry = (*list)[i].if_array();
    if (entry == nullptr || entry->size() != 4) {
      return invalid_argument("trace[{}] is not [group, shared, prompt, reply]", i);
    }
    int values[4];
    for (size_t k = 0; k < 4; ++k) {
      LOCKSTEP_ASSIGN_OR_RETURN(
          const int64_t number,
          formats::json_integer((*entry)[k], fmt::format("trace[{}][{}]", i, k), k < 2 ? 0 : 1,
                                kMostTokens));
      values[k] = static_cast<int>(number);
    }
    if (values[1] > values[2]) {
      return invalid_argument("trace[{}] shares {} tokens of a prompt of {}", i, values[1],
                              values[2]);
    }
    out.push_back({.group = values[0],
                   .shared_tokens = values[1],
                   .prompt_tokens = values[2],
                   .reply_tokens = values[3]});
  }
  return out;
}

StatusOr<ServingResult> serve_trace(model::Model& model, device::Device& device,
                                    const ServingBenchOptions& options) {
  engine::EngineOptions engine_options;
  for (const TraceRequest& request : options.trace) {
    engine_options.max_positions =
        std::max(engine_options.max_positions, request.prompt_tokens + request.reply_tokens);
  }
  const int rows = model.options().max_rows;
  engine_options.limits = {.max_rows = rows,
                           .max_logit_rows = options.concurrent,
                           .max_sequences = options.concurrent,
                           .max_waiting = options.concurrent,
                           .prompt_rows_beside_replies = std::max(rows / 2, 1)};
  LOCKSTEP_ASSIGN_OR_RETURN(engine_options.kv_bytes,
                            engine::Engine::bytes_needed(model, device, engine_options));
  engine_options.kv_bytes *= options.concurrent;
  if (options.kv_bytes > 0) engine_options.kv_bytes = options.kv_bytes;
  LOCKSTEP_ASSIGN_OR_RETURN(const auto engine,
                            engine::Engine::create(model, device, engine_options));

  ServingResult result;
  std::vector<Open> open;
  size_t next = 0;
  const auto start = Clock::now();
  while (next < options.trace.size() || !open.empty()) {
    while (next < options.trace.size() && open.size() < static_cast<size_t>(options.concurrent)) {
      const TraceRequest& request = options.trace[next];
      engine::RequestFields fields;
      LOCKSTEP_ASSIGN_OR_RETURN(fields.prompt, made_prompt(model.vocabulary(), request, next++));
      fields.max_tokens = request.reply_tokens;
      LOCKSTEP_ASSIGN_OR_RETURN(
          auto checked, engine::Request::create(std::move(fields), engine->request_limits()));
      LOCKSTEP_ASSIGN_OR_RETURN(auto stream, engine->submit(std::move(checked)));
      open.push_back({.stream = std::move(stream), .last = Clock::now()});
      result.prompt_tokens += request.prompt_tokens;
      ++result.requests;
    }
    engine->step();
    for (size_t i = 0; i < open.size();) {
      LOCKSTEP_ASSIGN_OR_RETURN(const bool ended, follow(open[i], result));
      if (ended) {
        open.erase(open.begin() + static_cast<ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
  }
  result.seconds = seconds_between(start, Clock::now());
  result.preemptions = engine->status().preemptions;
  LOCKSTEP_RETURN_IF_ERROR(engine->check_integrity());
  return result;
}

double percentile(std::vector<double> values, double share) {
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(values.size())));
  const auto at = values.begin() + static_cast<ptrdiff_t>(std::max<size_t>(rank, 1) - 1);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace lockstep::bench
