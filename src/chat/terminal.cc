#include "chat/terminal.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <optional>

#include "text/detokenizer.h"

namespace lockstep::chat {
namespace {

std::atomic<bool> g_interrupted = false;  // a signal handler can reach nothing else
struct sigaction g_previous;

void on_interrupt(int) { g_interrupted = true; }

// Waits for input; false at Ctrl-C. SIGINT is let in only while waiting: between a look at the flag
// and a plain read() it would be lost, and the read would go on.
bool wait_for_input() {
  sigset_t interrupt;
  sigset_t before;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  pthread_sigmask(SIG_BLOCK, &interrupt, &before);
  pollfd input = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  while (!InterruptScope::interrupted() && ::ppoll(&input, 1, nullptr, &before) < 0) {
    if (errno != EINTR) break;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return !InterruptScope::interrupted();
}

// One line without its end; empty at the end of input or on Ctrl-C.
std::optional<std::string> read_line() {
  std::string line;
  while (wait_for_input()) {
    char c;
    const ssize_t n = ::read(STDIN_FILENO, &c, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0 && !line.empty()) return line;
    if (n <= 0) return std::nullopt;
    if (c == '\n') return line;
    line += c;
  }
  return std::nullopt;
}

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

// Streams one reply; its text, without control tokens.
StatusOr<std::string> reply(engine::Runner& runner, const TextSide& text,
                            std::span<const TokenId> prompt, const TerminalOptions& options) {
  text::Detokenizer detokenizer(text.tokenizer);
  std::string said;
  const auto show = [&](const std::string& piece) {
    print(piece);
    said += piece;
  };
  const engine::GenerateRequest request = {.sampling = options.sampling,
                                           .max_tokens = options.max_tokens,
                                           .stop_ids = options.stop_ids,
                                           .digest = false,
                                           .cancelled = &InterruptScope::interrupted()};
  auto result =
      runner.generate(prompt, request, [&](TokenId token) { show(detokenizer.push(token)); });
  if (!result.ok()) return result.status();
  show(detokenizer.finish());
  fmt::print(stderr, "\n[{} tokens, {:.1f} tokens/s; prompt {} tokens, {} already computed{}]\n",
             result->tokens.size(), result->tokens_per_second(), prompt.size(),
             result->reused_tokens,
             result->finish == engine::FinishReason::kContext ? "; the context is full" : "");
  return said;
}

}  // namespace

InterruptScope::InterruptScope() {
  g_interrupted = false;
  struct sigaction action = {};
  action.sa_handler = on_interrupt;  // no SA_RESTART: a read at the prompt must return
  sigaction(SIGINT, &action, &g_previous);
}
InterruptScope::~InterruptScope() { sigaction(SIGINT, &g_previous, nullptr); }
const std::atomic<bool>& InterruptScope::interrupted() { return g_interrupted; }
void InterruptScope::reset() { g_interrupted = false; }

Status converse(engine::Runner& runner, const TextSide& text, const TerminalOptions& options) {
  const InterruptScope scope;
  std::vector<text::ChatMessage> messages;
  if (!options.system.empty()) messages.push_back({"system", options.system});
  fmt::print(stderr, "Type a message; Ctrl-C stops a reply, Ctrl-D leaves.\n");
  while (true) {
    print("> ");
    const auto line = read_line();
    if (!line.has_value()) break;
    if (line->empty()) continue;
    messages.push_back({"user", *line});
    const auto prompt = text.encode_chat(messages);
    auto said = prompt.ok() ? reply(runner, text, *prompt, options)
                            : StatusOr<std::string>(prompt.status());
    InterruptScope::reset();
    if (!said.ok()) {
      fmt::print(stderr, "error: {}\n", message_of(said.status()));
      messages.pop_back();
      continue;
    }
    messages.push_back({"assistant", *std::move(said)});
  }
  print("\n");
  return ok_status();
}

}  // namespace lockstep::chat
