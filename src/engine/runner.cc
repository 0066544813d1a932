#include "engine/runner.h"

#include <chrono>

#include "kv/budget.h"

namespace lockstep::engine {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool is_cancelled(const GenerateRequest& request) {
  return request.cancelled != nullptr && request.cancelled->load(std::memory_order_relaxed);
}

}  // namespace

double Generation::tokens_per_second() const {
  if (tokens.size() < 2 || generation_seconds <= 0) return 0;
  return static_cast<double>(tokens.size() - 1) / generation_seconds;
}

StatusOr<std::unique_ptr<Runner>> Runner::create(model::Model& model, device::Device& device,
                                                 const RunnerOptions& options) {
  if (!(1 <= options.max_positions && options.max_positions <= model.max_positions())) {
    return invalid_argument("a context of {} positions is outside [1, {}]", options.max_positions,
                            model.max_positions());
  }
  const int rows = options.chunk_rows == 0 ? model.options().max_rows : options.chunk_rows;
  if (!(1 <= rows && rows <= model.options().max_rows)) {
    return invalid_argument("a chunk of {} rows is outside [1, {}]", options.chunk_rows,
                            model.options().max_rows);
  }
  EngineOptions engine;
  engine.max_positions = options.max_positions;
  engine.limits = {.max_rows = rows,
                   .max_logit_rows = std::min(model.options().max_logit_rows, rows),
                   .max_sequences = 1,
                   .max_waiting = 1,
                   .prompt_rows_beside_replies = rows};
  LOCKSTEP_ASSIGN_OR_RETURN(engine.kv_bytes, Engine::bytes_needed(model, device, engine));
  LOCKSTEP_ASSIGN_OR_RETURN(auto made, Engine::create(model, device, engine));
  return std::unique_ptr<Runner>(new Runner(std::move(made)));
}

Status Runner::score(std::span<const TokenId> ids, const OnRow& on_row) {
  RequestFields fields;
  fields.prompt.assign(ids.begin(), ids.end());
  fields.max_tokens = 1;
  LOCKSTEP_ASSIGN_OR_RETURN(Request request,
                            Request::create(std::move(fields), engine_->request_limits()));
  LOCKSTEP_ASSIGN_OR_RETURN(const auto stream, engine_->submit(std::move(request), on_row));
  Status status;
  while (!stream->is_done()) {
    engine_->step();
    while (const auto event = stream->try_next()) status.Update(event->error);
  }
  return status;
}

StatusOr<Generation> Runner::generate(std::span<const TokenId> prompt,
                                      const GenerateRequest& request, const OnToken& on_token) {
  RequestFields fields;
  fields.prompt.assign(prompt.begin(), prompt.end());
  fields.max_tokens = request.max_tokens;
  fields.sampling = request.sampling;
  fields.seed = request.sampling.seed;
  fields.stop_ids = request.stop_ids;
  fields.digest = request.digest;
  LOCKSTEP_ASSIGN_OR_RETURN(Request checked,
                            Request::create(std::move(fields), engine_->request_limits()));
  LOCKSTEP_ASSIGN_OR_RETURN(const auto stream, engine_->submit(std::move(checked)));

  Generation out;
  Status status;
  const auto start = Clock::now();
  auto first_token = start;
  while (!stream->is_done()) {
    if (is_cancelled(request)) stream->cancel();
    engine_->step();
    while (const auto event = stream->try_next()) {
      if (event->token.has_value()) {
        if (out.tokens.empty()) {
          first_token = Clock::now();
          out.prompt_seconds = seconds_since(start);
        }
        out.tokens.push_back(*event->token);
        if (on_token) on_token(*event->token);
      }
      if (!event->finish.has_value()) continue;
      out.finish = *event->finish;
      out.digest = event->digest;
      status = event->error;
    }
  }
  LOCKSTEP_RETURN_IF_ERROR(status);
  if (out.tokens.empty()) out.prompt_seconds = seconds_since(start);
  if (!out.tokens.empty()) out.generation_seconds = seconds_since(first_token);
  out.reused_tokens = stream->usage().cached_tokens;
  return out;
}

}  // namespace lockstep::engine
