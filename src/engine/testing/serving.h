// Test helper: an engine over a tiny checkpoint, and what a client does with it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/engine.h"
#include "engine/reply.h"
#include "engine/testing/loaded.h"

namespace lockstep::engine::testing {

class Serving {
 public:
  struct Options {
    sched::Limits limits{.max_rows = 64, .max_logit_rows = 64, .max_sequences = 64};
    int max_positions = 300;
    int kv_pages = 2000;  // of full positions, about
    size_t stream_events = 256;
    const text::Tokenizer* tokenizer = nullptr;
  };

  Serving(model::Model& model, device::Device& device, const Options& options);

  Engine& engine() { return *engine_; }
  StatusOr<std::shared_ptr<Stream>> submit(RequestFields fields);
  std::shared_ptr<Stream> start(RequestFields fields);  // that must be taken
  // Steps until there is nothing left to do; checks that every page is accounted for.
  void run();
  // The choices of a stream that has ended.
  static std::vector<Reply> replies(Stream& stream);
  // Alone: submit, run, collect.
  Reply reply(RequestFields fields);

 private:
  std::unique_ptr<Engine> engine_;
};

// `count` ids of the model's vocabulary, made from integers.
std::vector<TokenId> made_prompt(const model::Model& model, int count, uint64_t seed = 0);
// With a digest; greedy unless seed is given.
RequestFields fields_of(std::vector<TokenId> prompt, int max_tokens,
                        std::optional<uint64_t> seed = {});

}  // namespace lockstep::engine::testing
