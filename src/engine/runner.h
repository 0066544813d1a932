// One sequence at a time over an engine, without a thread of its own: for commands that answer one
// prompt, hold one conversation or score one text.
//
// Thread rule: one thread. Ownership: borrows model and device, which must outlive it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/sampling.h"
#include "base/status.h"
#include "base/vocabulary.h"
#include "device/device.h"
#include "engine/engine.h"
#include "model/model.h"

namespace lockstep::engine {

struct RunnerOptions {
  int max_positions = 0;  // K/V room, in [1, the model's positions]
  int chunk_rows = 0;     // most rows a step; 0: the model's max_rows
};

struct GenerateRequest {
  SamplingFields sampling;        // the seed too
  int max_tokens = 0;             // >= 1
  std::vector<TokenId> stop_ids;  // the stop id ends the reply and is part of it
  bool digest = false;            // fill Generation::digest
  // Ends the reply before its next step once true; null: never. Borrowed, may be set by a signal
  // handler or another thread.
  const std::atomic<bool>* cancelled = nullptr;
};

struct Generation {
  std::vector<TokenId> tokens;
  FinishReason finish = FinishReason::kLength;
  int reused_tokens = 0;  // of the prompt, computed earlier
  double prompt_seconds = 0;
  double generation_seconds = 0;  // from the first token to the last
  // XXH3 over all rows of logits that tokens were drawn from; equal digests, equal bits.
  std::string digest;

  // Of the tokens after the first, which came with the prompt; 0 where there are none.
  double tokens_per_second() const;
};

class Runner {
 public:
  // invalid_argument for options out of range; resource_exhausted with numbers.
  static StatusOr<std::unique_ptr<Runner>> create(model::Model& model, device::Device& device,
                                                  const RunnerOptions& options);

  int max_positions() const { return engine_->max_positions(); }

  // Logits of every position of a fresh sequence, in order. `row` is valid during the call.
  using OnRow = OnLogits;
  Status score(std::span<const TokenId> ids, const OnRow& on_row);

  // Continues `prompt`. What earlier calls computed of a common prefix is used again. on_token is
  // called for every token, the stop id included. A reply cancelled while its prompt was read has
  // no tokens. invalid_argument for an empty prompt or one that leaves no room for a token.
  using OnToken = std::function<void(TokenId)>;
  StatusOr<Generation> generate(std::span<const TokenId> prompt, const GenerateRequest& request,
                                const OnToken& on_token = {});

  // Forgets everything computed.
  void clear() { engine_->clear_prefixes(); }

  // XXH3 of the row of logits that the last token was drawn from.
  std::string last_logits_digest() { return engine_->last_logits_digest(); }

 private:
  explicit Runner(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}

  std::unique_ptr<Engine> engine_;
};

}  // namespace lockstep::engine
