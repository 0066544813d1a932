// One reply being written: what it has said so far, what its next token may be, when it ends.
//
// Thread rule: the engine's thread. Ownership: shares its request.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/hash.h"
#include "engine/request.h"
#include "engine/stream.h"
#include "engine/text_output.h"

namespace lockstep::engine {

class Choice {
 public:
  // `tokenizer` may be null: no text, no stop strings.
  Choice(std::shared_ptr<const Request> request, int index, const text::Tokenizer* tokenizer);

  const Request& request() const { return *request_; }
  int index() const { return index_; }
  int reply_tokens() const { return static_cast<int>(reply_.size()); }

  // How its next token is drawn. Valid until the next accept.
  RowSampling row_sampling() const;

  // Takes a drawn token in; `row` is what it was drawn from. The event has the token, its text and,
  // where the choice ends with it, why. `has_next_position`: whether another token could be
  // computed.
  Event accept(TokenId token, std::span<const float> row, bool has_next_position);
  // Its end for a reason from outside.
  Event end(FinishReason reason, Status error = ok_status());

  // Whether accept looks at the row at all.
  bool needs_row() const { return request_->wants_logprobs() || request_->wants_digest(); }

 private:
  std::optional<FinishReason> finish_of(TokenId token, bool stopped, bool has_next_position) const;
  void note_use(TokenId token);  // just added to reply_
  void list_uses();
  void close(Event& event) const;

  std::shared_ptr<const Request> request_;
  int index_;
  SamplingParams sampling_;
  std::vector<TokenId> reply_;
  std::optional<TextOutput> text_;
  std::string row_digests_;

  // Penalties only: the tokens in their window, and how often each is there.
  struct Uses {
    int all = 0;
    int in_reply = 0;
  };
  std::map<TokenId, Uses> uses_;
  std::vector<TokenUse> used_;  // uses_ as the device takes it
};

// The log probability of `token` in a row, with the likeliest.
LogprobEntry logprob_entry(std::span<const float> row, TokenId token, int top);

}  // namespace lockstep::engine
