// The events of a stream put together again, for callers that want whole replies.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <vector>

#include "engine/stream.h"

namespace lockstep::engine {

// All of one choice.
struct Reply {
  std::vector<TokenId> tokens;
  std::string text;
  std::vector<LogprobEntry> logprobs;
  std::vector<LogprobEntry> prompt_logprobs;  // choice 0 only
  std::string digest;
  FinishReason finish = FinishReason::kError;
  Status error;
};

// What must be equal however a request is served. REQUIRES replies with a digest.
bool same_bytes(const Reply& a, const Reply& b);

// Takes what a stream has at hand, without waiting. `replies` has one entry a choice.
void collect(Stream& stream, std::vector<Reply>& replies);

}  // namespace lockstep::engine
