// `lockstep run` on a terminal: a conversation that streams, keeps what it has computed between
// turns and lets Ctrl-C stop a reply.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "base/sampling.h"
#include "base/status.h"
#include "chat/text_side.h"
#include "engine/runner.h"

namespace lockstep::chat {

struct TerminalOptions {
  std::string system;  // empty: none
  SamplingFields sampling;
  std::vector<TokenId> stop_ids;
  int max_tokens = 0;  // of one reply
};

// Reads turns from standard input until its end (Ctrl-D) or a Ctrl-C at the prompt. A turn that
// cannot be answered (no room left, a template that refuses it) is an error of that turn alone.
Status converse(engine::Runner& runner, const TextSide& text, const TerminalOptions& options);

// While it lives, SIGINT (Ctrl-C) sets a flag instead of ending the program.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

  // Whether Ctrl-C was pressed since reset(); for GenerateRequest::cancelled.
  static const std::atomic<bool>& interrupted();
  static void reset();
};

}  // namespace lockstep::chat
