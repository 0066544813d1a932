// The text side of a model: its tokenizer, its chat template, and a conversation as prompt tokens.
//
// Thread rule: const methods from any thread.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace lockstep::chat {

struct TextSide {
  text::Tokenizer tokenizer;
  std::optional<text::ChatTemplate> chat_template;

  // Plain text, BOS in front where the file says so; text that spells a special token becomes it.
  StatusOr<std::vector<TokenId>> encode_raw(std::string_view text) const;

  // The conversation (chat_messages) through the template. failed_precondition without a template.
  StatusOr<std::vector<text::Segment>> render(text::jinja::Value messages,
                                              bool add_generation_prompt) const;

  // The same as prompt tokens, ready for the model's turn.
  StatusOr<std::vector<TokenId>> encode_chat(std::span<const text::ChatMessage> messages) const;

  // Control tokens by which published chat models end a turn, as far as this tokenizer has them.
  std::vector<TokenId> end_of_turn_ids() const;
};

}  // namespace lockstep::chat
