#include "engine/testing/serving.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace lockstep::engine::testing {

Serving::Serving(model::Model& model, device::Device& device, const Options& options) {
  int64_t page_bytes = 0;
  for (const LayerGroup& group : model.state_layout().groups) {
    page_bytes += device.page_bytes(group).value();
  }
  engine_ = Engine::create(model, device,
                           {.limits = options.limits,
                            .max_positions = options.max_positions,
                            .kv_bytes = page_bytes * options.kv_pages,
                            .stream_events = options.stream_events},
                           options.tokenizer)
                .value();
}

StatusOr<std::shared_ptr<Stream>> Serving::submit(RequestFields fields) {
  LOCKSTEP_ASSIGN_OR_RETURN(Request request,
                            Request::create(std::move(fields), engine_->request_limits()));
  return engine_->submit(std::move(request));
}

std::shared_ptr<Stream> Serving::start(RequestFields fields) {
  return submit(std::move(fields)).value();
}

void Serving::run() {
  while (engine_->step()) {
  }
  const Status status = engine_->check_integrity();
  EXPECT_TRUE(status.ok()) << message_of(status);
}

std::vector<Reply> Serving::replies(Stream& stream) {
  std::vector<Reply> out;
  collect(stream, out);
  EXPECT_TRUE(stream.is_done());
  return out;
}

Reply Serving::reply(RequestFields fields) {
  const auto stream = start(std::move(fields));
  run();
  return replies(*stream).at(0);
}

std::vector<TokenId> made_prompt(const model::Model& model, int count, uint64_t seed) {
  CounterRng rng(seed);
  std::vector<TokenId> out;
  for (int i = 0; i < count; ++i) {
    const auto id = rng.below(static_cast<uint32_t>(model.vocabulary().size()));
    out.push_back(model.vocabulary().admit(static_cast<int64_t>(id)).value());
  }
  return out;
}

RequestFields fields_of(std::vector<TokenId> prompt, int max_tokens, std::optional<uint64_t> seed) {
  RequestFields fields;
  fields.prompt = std::move(prompt);
  fields.max_tokens = max_tokens;
  fields.digest = true;
  if (seed.has_value()) {
    fields.sampling.temperature = 1.0;
    fields.sampling.top_p = 0.95;
  }
  fields.seed = seed.value_or(0);
  return fields;
}

}  // namespace lockstep::engine::testing
