// lockstep: the program. Parses the command line, runs one subcommand, prints its error.
//
// Exit status: 0, 1 for an error, 2 for a command line that makes no sense.
#include <cstdio>
#include <new>

#include "device/cpu/isa.h"
#include "device/cuda_device.h"
#include "tools/commands.h"

namespace lockstep::tools {
namespace {

std::string version_text() {
  std::string sets;
  for (const auto* kernels : device::cpu::runnable_kernels()) {
    sets += fmt::format("{}{}", sets.empty() ? "" : " ", kernels->isa);
  }
  return fmt::format("lockstep {}\ncompiler {}\ncpu      {}\ncuda     {}", LOCKSTEP_VERSION,
                     __VERSION__, sets, device::describe_cuda());
}

// The subcommand that was meant, for the hint at its help.
std::string command_path(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands()) return "lockstep " + command->get_name();
  return "lockstep";
}

std::string command_names(CLI::App& app) {
  std::string names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    names += (names.empty() ? "" : ", ") + command->get_name();
  }
  return names;
}

int main(int argc, char** argv) {
  CLI::App app("Lockstep: the same bytes however served.", "lockstep");
  app.set_version_flag("--version", version_text);
  app.require_subcommand(1);
  Action action;
  add_run(app, action);
  add_logits(app, action);
  add_inspect(app, action);
  add_bench(app, action);
  add_tokenize(app, action);
  add_verify(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    return app.exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    const std::string path = command_path(app);
    if (app.get_subcommands().empty()) {
      fmt::print(stderr, "{}: the command must be one of {} (see {} --help)\n", path,
                 command_names(app), path);
    } else {
      fmt::print(stderr, "{}: {} (see {} --help)\n", path, error.what(), path);
    }
    return 2;
  }
  const Status status = action();
  if (!status.ok()) fmt::print(stderr, "error: {}\n", message_of(status));
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace lockstep::tools

int main(int argc, char** argv) {
  try {
    return lockstep::tools::main(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("error: out of memory\n", stderr);
  } catch (...) {
    std::fputs("error: a fault of this program\n", stderr);
  }
  return 1;
}
