#include "verify/serving.h"

#include <algorithm>

namespace lockstep::verify {

StatusOr<Serving> Serving::create(Instance instance, const ServingOptions& options) {
  const int rows = options.max_rows == 0 ? instance.model.options().max_rows : options.max_rows;
  const int sequences = std::min(options.max_sequences, rows);
  engine::EngineOptions engine;
  engine.max_positions = options.max_positions;
  engine.limits = {.max_rows = rows,
                   .max_logit_rows = sequences,
                   .max_sequences = sequences,
                   .max_waiting = 4096,
                   .prompt_rows_beside_replies = rows};
  LOCKSTEP_ASSIGN_OR_RETURN(engine.kv_bytes,
                            engine::Engine::bytes_needed(instance.model, instance.device, engine));
  engine.kv_bytes *= options.sequences_of_pages == 0 ? sequences : options.sequences_of_pages;
  LOCKSTEP_ASSIGN_OR_RETURN(auto made,
                            engine::Engine::create(instance.model, instance.device, engine));
  return Serving(std::move(made));
}

StatusOr<std::shared_ptr<engine::Stream>> Serving::submit(engine::RequestFields fields) {
  LOCKSTEP_ASSIGN_OR_RETURN(auto request,
                            engine::Request::create(std::move(fields), engine_->request_limits()));
  return engine_->submit(std::move(request));
}

Status Serving::run() {
  while (engine_->step()) {
  }
  return engine_->check_integrity();
}

}  // namespace lockstep::verify
