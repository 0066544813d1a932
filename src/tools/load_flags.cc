#include <sched.h>

#include "device/cpu/cpu_device.h"
#include "tools/commands.h"

namespace lockstep::tools {
namespace {

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

}  // namespace

void add_load_flags(CLI::App& command, LoadFlags& flags) {
  flags.threads = usable_cores();
  command.add_option(
      "-m,--model", flags.model,
      "Directory, .gguf file, or name in the store (default: " + std::string(kDefaultModel) + ")");
  command.add_option("-t,--threads", flags.threads, "Compute threads")
      ->check(in_range(1, device::kMaxCpuThreads))
      ->capture_default_str();
  command.add_option("--profile", flags.profile,
                     "Arithmetic: cpu-f32-1, cpu-bf16-1, cpu-int8-1 (default: by the checkpoint)");
  command.add_option("--kv-type", flags.kv_type,
                     "K/V type: f32, f16, bf16 (default: the profile's own)");
  command.add_option("--device", flags.device, "cpu, reference or cuda")->capture_default_str();
}

}  // namespace lockstep::tools
