// Any source, rendered over a small conversation with small limits: an answer, soon, and no crash.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "text/chat_template.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockstep::text;
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  const auto chat = ChatTemplate::parse(source);
  if (!chat.ok()) return 0;
  const ChatMessage messages[] = {
      {"system", "S"}, {"user", " Hi <|x|> "}, {"assistant", "y\xc3\xa9"}};
  ChatInput input;
  input.messages = *chat_messages(messages);
  input.bos_token = "<s>";
  const jinja::Limits limits{
      .steps = 20'000, .work_bytes = 1 << 20, .output_bytes = 1 << 16, .call_depth = 8};
  const auto segments = chat->render(input, limits);
  if (!segments.ok()) return 0;
  // What comes out is bounded, in merged pieces, and valid where the source is.
  size_t bytes = 0;
  for (size_t i = 0; i < segments->size(); ++i) {
    if ((*segments)[i].text.empty()) __builtin_trap();
    if (i > 0 && (*segments)[i].origin == (*segments)[i - 1].origin) __builtin_trap();
    bytes += (*segments)[i].text.size();
  }
  if (bytes > static_cast<size_t>(limits.output_bytes)) __builtin_trap();
  return 0;
}
