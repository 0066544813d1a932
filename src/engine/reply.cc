#include "engine/reply.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace lockstep::engine {

bool same_bytes(const Reply& a, const Reply& b) {
  LOCKSTEP_CHECK(!a.digest.empty() && !b.digest.empty());
  return a.tokens == b.tokens && a.digest == b.digest && a.finish == b.finish;
}

void collect(Stream& stream, std::vector<Reply>& replies) {
  while (auto event = stream.try_next()) {
    const auto choice = static_cast<size_t>(event->choice);
    if (replies.size() <= choice) replies.resize(choice + 1);
    Reply& reply = replies[choice];
    if (event->token.has_value()) reply.tokens.push_back(*event->token);
    reply.text += event->text;
    if (event->logprob.has_value()) reply.logprobs.push_back(*std::move(event->logprob));
    std::ranges::move(event->prompt_logprobs, std::back_inserter(reply.prompt_logprobs));
    if (!event->finish.has_value()) continue;
    reply.finish = *event->finish;
    reply.error = event->error;
    reply.digest = event->digest;
  }
}

}  // namespace lockstep::engine
