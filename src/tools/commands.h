// The subcommands. Each add_* describes its flags to the parser and says what to run; main prints
// the error and turns it into an exit status.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "base/status.h"
#include "tools/load.h"

namespace lockstep::tools {

// What the chosen subcommand will do.
using Action = std::function<Status()>;

void add_run(CLI::App& app, Action& action);
void add_logits(CLI::App& app, Action& action);
void add_inspect(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_tokenize(CLI::App& app, Action& action);
void add_verify(CLI::App& app, Action& action);

// A whole number from `low` to `high`; the help shows the default alone.
template <class T>
CLI::Validator in_range(T low, T high) {
  return CLI::Range(low, high).description("");
}

// -m -t --profile --kv-type --device. `flags` must outlive the parse.
void add_load_flags(CLI::App& command, LoadFlags& flags);

}  // namespace lockstep::tools
