#include "chat/text_side.h"

#include <chrono>

namespace lockstep::chat {
namespace {

constexpr std::string_view kEndOfTurn[] = {"<|im_end|>", "<end_of_turn>", "<|eot_id|>"};

std::optional<std::string> token_text(const text::Tokenizer& tokenizer, std::optional<TokenId> id) {
  if (!id.has_value()) return std::nullopt;
  return std::string(tokenizer.token_bytes(*id));
}

}  // namespace

StatusOr<std::vector<TokenId>> TextSide::encode_raw(std::string_view text) const {
  return tokenizer.encode(text, {.match_specials = true, .add_specials = true});
}

StatusOr<std::vector<text::Segment>> TextSide::render(text::jinja::Value messages,
                                                      bool add_generation_prompt) const {
  if (!chat_template.has_value()) {
    return failed_precondition("this model has no chat template; use --raw for plain text");
  }
  text::ChatInput input;
  input.messages = std::move(messages);
  input.add_generation_prompt = add_generation_prompt;
  input.bos_token = token_text(tokenizer, tokenizer.bos());
  input.eos_token = token_text(tokenizer, tokenizer.eos());
  input.now_unix_seconds = std::chrono::duration_cast<std::chrono::seconds>(
                               std::chrono::system_clock::now().time_since_epoch())
                               .count();
  return chat_template->render(input);
}

StatusOr<std::vector<TokenId>> TextSide::encode_chat(
    std::span<const text::ChatMessage> messages) const {
  LOCKSTEP_ASSIGN_OR_RETURN(auto values, text::chat_messages(messages));
  LOCKSTEP_ASSIGN_OR_RETURN(const auto segments,
                            render(std::move(values), /*add_generation_prompt=*/true));
  return tokenizer.encode(segments);
}

std::vector<TokenId> TextSide::end_of_turn_ids() const {
  std::vector<TokenId> ids;
  for (const std::string_view text : kEndOfTurn) {
    const auto id = tokenizer.find_added(text);
    if (id.has_value() && tokenizer.is_control(*id)) ids.push_back(*id);
  }
  return ids;
}

}  // namespace lockstep::chat
