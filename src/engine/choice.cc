#include "engine/choice.h"

#include <algorithm>

#include "base/thread_pool.h"

namespace lockstep::engine {

LogprobEntry logprob_entry(std::span<const float> row, TokenId token, int top) {
  const ComputeScope scope;
  const device::RowLogprobs logprobs(row);
  return {.token = {.token = token, .logprob = logprobs.of(token)}, .top = logprobs.top(top)};
}

Choice::Choice(std::shared_ptr<const Request> request, int index, const text::Tokenizer* tokenizer)
    : request_(std::move(request)), index_(index), sampling_(request_->sampling(index)) {
  if (tokenizer != nullptr) {
    text_.emplace(*tokenizer, request_->stop_strings(), request_->include_stop_string());
  }
  if (!request_->has_penalties()) return;
  const auto& prompt = request_->prompt();
  const size_t seen = std::min(prompt.size(), static_cast<size_t>(request_->penalty_window()));
  for (size_t i = prompt.size() - seen; i < prompt.size(); ++i) ++uses_[prompt[i]].all;
  list_uses();
}

void Choice::list_uses() {
  used_.clear();
  for (const auto& [token, uses] : uses_) {
    used_.push_back({.token = token, .in_reply = uses.in_reply});
  }
}

void Choice::note_use(TokenId token) {
  if (!request_->has_penalties()) return;
  Uses& uses = uses_[token];
  ++uses.all;
  ++uses.in_reply;
  // The token that leaves the window as this one enters.
  const auto& prompt = request_->prompt();
  const size_t text = prompt.size() + reply_.size();
  if (const auto window = static_cast<size_t>(request_->penalty_window()); text > window) {
    const size_t gone = text - window - 1;
    const bool in_reply = gone >= prompt.size();
    const TokenId old = in_reply ? reply_[gone - prompt.size()] : prompt[gone];
    const auto found = uses_.find(old);
    --found->second.all;
    found->second.in_reply -= in_reply;
    if (found->second.all == 0) uses_.erase(found);
  }
  list_uses();
}

RowSampling Choice::row_sampling() const {
  RowSampling out{.params = sampling_, .edits = request_->edits()};
  out.edits.used = used_;
  if (reply_tokens() + 1 < request_->min_tokens()) out.edits.banned = request_->stop_ids();
  return out;
}

std::optional<FinishReason> Choice::finish_of(TokenId token, bool stopped,
                                              bool has_next_position) const {
  const auto& stops = request_->stop_ids();
  if (stopped || std::ranges::find(stops, token) != stops.end()) return FinishReason::kStop;
  if (reply_tokens() == request_->max_tokens()) return FinishReason::kLength;
  if (!has_next_position) return FinishReason::kContext;
  return std::nullopt;
}

Event Choice::accept(TokenId token, std::span<const float> row, bool has_next_position) {
  Event event;
  event.choice = index_;
  event.token = token;
  if (request_->wants_logprobs()) {
    event.logprob = logprob_entry(row, token, request_->top_logprobs());
  }
  if (request_->wants_digest()) row_digests_ += xxh3_128_hex(std::as_bytes(row));
  reply_.push_back(token);
  note_use(token);
  bool stopped = false;
  if (text_.has_value()) {
    TextOutput::Piece piece = text_->push(token, reply_tokens() >= request_->min_tokens());
    event.text = std::move(piece.text);
    stopped = piece.stopped;
  }
  event.finish = finish_of(token, stopped, has_next_position);
  if (event.finish.has_value()) {
    if (text_.has_value() && !stopped) event.text += text_->finish();
    close(event);
  }
  return event;
}

Event Choice::end(FinishReason reason, Status error) {
  Event event;
  event.choice = index_;
  event.finish = reason;
  event.error = std::move(error);
  if (text_.has_value()) event.text = text_->finish();
  close(event);
  return event;
}

void Choice::close(Event& event) const {
  if (request_->wants_digest()) event.digest = xxh3_128_hex(std::as_bytes(std::span(row_digests_)));
}

}  // namespace lockstep::engine
