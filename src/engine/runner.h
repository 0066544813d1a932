// Runs one sequence over a model: known tokens are computed in chunks, then one token a step. What
// a reply is never depends on the chunk size or on what was computed before.
//
// Thread rule: one thread. Ownership: borrows model and device, which must outlive it; owns the K/V
// pages.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/sampling.h"
#include "base/status.h"
#include "base/vocabulary.h"
#include "device/device.h"
#include "kv/page_allocator.h"
#include "kv/sequence_pages.h"
#include "model/model.h"

namespace lockstep::engine {

struct RunnerOptions {
  int max_positions = 0;  // K/V room, in [1, the model's positions]
  int chunk_rows = 0;     // most rows a step; 0: the model's max_rows
};

struct GenerateRequest {
  SamplingParams sampling = SamplingParams::greedy();
  int max_tokens = 0;             // >= 1
  std::vector<TokenId> stop_ids;  // the stop id ends the reply and is part of it
  bool digest = false;            // fill Generation::digest
  // Ends the reply before its next step once true; null: never. Borrowed, may be set by a signal
  // handler or another thread.
  const std::atomic<bool>* cancelled = nullptr;
};

enum class FinishReason : uint8_t {
  kStop,       // a stop id
  kLength,     // max_tokens
  kContext,    // no room for another position
  kCancelled,  // as the request's flag said
};
std::string_view finish_reason_name(FinishReason reason);

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

  int max_positions() const { return options_.max_positions; }

  // Logits of every position of a fresh sequence, in order. `row` is valid during the call.
  using OnRow = std::function<Status(int position, std::span<const float> row)>;
  Status score(std::span<const TokenId> ids, const OnRow& on_row);

  // Continues `prompt`. What the last call computed of a common prefix is used again. on_token is
  // called for every token, the stop id included. A reply cancelled while its prompt was read has
  // no tokens. invalid_argument for an empty prompt or one that leaves no room for a token.
  using OnToken = std::function<void(TokenId)>;
  StatusOr<Generation> generate(std::span<const TokenId> prompt, const GenerateRequest& request,
                                const OnToken& on_token = {});

  // Forgets everything computed.
  void clear();

  // XXH3 of the row of logits that the last token was drawn from.
  std::string last_logits_digest() { return row_digest(); }

 private:
  enum class Rows : uint8_t { kNone, kLast, kEvery };

  Runner(model::Model& model, device::Device& device, const RunnerOptions& options);

  // One step over tokens at positions [computed, computed + tokens.size()).
  Status step(std::span<const TokenId> tokens, Rows logits, const SamplingParams* sampling);
  // Drops computed positions that are not a prefix of `ids`, or past `most`.
  void keep_prefix(std::span<const TokenId> ids, size_t most);
  // Computes prompt tokens not yet computed; the last one's row is sampled. Stops early when
  // cancelled.
  Status prefill(std::span<const TokenId> prompt, const GenerateRequest& request);
  // Draws tokens until the reply ends; the first has been sampled.
  Status decode(const GenerateRequest& request, const OnToken& on_token, Generation& out);
  std::span<const float> read_row(int logit_row);
  std::string row_digest();

  model::Model& model_;
  device::Device& device_;
  RunnerOptions options_;
  std::unique_ptr<device::PagePool> pool_;
  std::vector<kv::PageAllocator> allocators_;  // one a group
  std::optional<kv::SequencePages> pages_;
  std::vector<TokenId> computed_;
  std::vector<float> row_;  // [V]
};

}  // namespace lockstep::engine
