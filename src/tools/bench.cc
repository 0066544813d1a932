// lockstep bench: prompt and generation speed.
#include "bench/speed.h"

#include "base/mapped_file.h"
#include "bench/serving.h"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>

#include "formats/json.h"
#include "tools/commands.h"

namespace lockstep::tools {
namespace {

struct BenchFlags {
  LoadFlags load;
  bench::SpeedOptions speed;
  std::string trace_path;  // empty: one request at a time
  int concurrent = 16;
  std::string output = "table";
};

int64_t peak_memory_bytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

struct Spread {
  double median, low, high;
  explicit Spread(const std::vector<double>& values)
      : median(bench::median(values)),
        low(*std::ranges::min_element(values)),
        high(*std::ranges::max_element(values)) {}
};

std::string spread_json(const Spread& s) {
  return fmt::format("{{\"median\":{:.3f},\"min\":{:.3f},\"max\":{:.3f}}}", s.median, s.low,
                     s.high);
}

void print_result(const BenchFlags& flags, const LoadedModel& loaded,
                  const bench::SpeedResult& result) {
  const Spread prompt(result.prompt);
  const Spread generation(result.generation);
  const double weights = static_cast<double>(loaded.model->weight_bytes());
  const double gigabytes = weights * generation.median / 1e9;
  if (flags.output == "json") {
    fmt::print(
        "{{\"model\":{},\"profile\":\"{}\",\"device\":{},\"threads\":{},\"prompt_tokens\":{},"
        "\"generated_tokens\":{},\"repetitions\":{},\"prompt_tokens_per_second\":{},"
        "\"generation_tokens_per_second\":{},\"weights_gb_per_second\":{:.3f},"
        "\"last_logits_digest\":\"{}\",\"peak_memory_bytes\":{}}}\n",
        formats::json_escaped(std::filesystem::path(loaded.checkpoint->path()).filename().string()),
        loaded.profile.name(), formats::json_escaped(loaded.device->description()),
        flags.load.threads, flags.speed.prompt_tokens, flags.speed.generated_tokens,
        flags.speed.repetitions, spread_json(prompt), spread_json(generation), gigabytes,
        result.last_logits_digest, peak_memory_bytes());
    return;
  }
  fmt::print("prompt      {:>6} tokens {:>10.1f} tokens/s  ({:.1f} to {:.1f})\n",
             flags.speed.prompt_tokens, prompt.median, prompt.low, prompt.high);
  fmt::print(
      "generation  {:>6} tokens {:>10.1f} tokens/s  ({:.1f} to {:.1f}), weights {:.1f} GB/s\n",
      flags.speed.generated_tokens, generation.median, generation.low, generation.high, gigabytes);
  fmt::print("last logits {}; peak memory {:.1f} MB\n", result.last_logits_digest,
             static_cast<double>(peak_memory_bytes()) / 1e6);
}

// "first token  0.012 s  0.034 s  0.050 s"
std::string percentiles(const std::vector<double>& values) {
  if (values.empty()) return "none";
  return fmt::format("{:.4f} s {:.4f} s {:.4f} s", bench::percentile(values, 0.5),
                     bench::percentile(values, 0.95), bench::percentile(values, 0.99));
}

std::string percentiles_json(const std::vector<double>& values) {
  if (values.empty()) return "null";
  return fmt::format("{{\"p50\":{:.6f},\"p95\":{:.6f},\"p99\":{:.6f}}}",
                     bench::percentile(values, 0.5), bench::percentile(values, 0.95),
                     bench::percentile(values, 0.99));
}

void print_serving(const BenchFlags& flags, const LoadedModel& loaded,
                   const bench::ServingResult& result) {
  const double found = static_cast<double>(result.cached_tokens) /
                       static_cast<double>(std::max<int64_t>(result.prompt_tokens, 1));
  const double rate = static_cast<double>(result.reply_tokens) / result.seconds;
  if (flags.output == "json") {
    fmt::print(
        "{{\"model\":{},\"profile\":\"{}\",\"device\":{},\"concurrent\":{},\"requests\":{},"
        "\"prompt_tokens\":{},\"cached_tokens\":{},\"reply_tokens\":{},\"preemptions\":{},"
        "\"seconds\":{:.3f},\"reply_tokens_per_second\":{:.3f},\"first_token_seconds\":{},"
        "\"between_token_seconds\":{},\"peak_memory_bytes\":{}}}\n",
        formats::json_escaped(std::filesystem::path(loaded.checkpoint->path()).filename().string()),
        loaded.profile.name(), formats::json_escaped(loaded.device->description()),
        flags.concurrent, result.requests, result.prompt_tokens, result.cached_tokens,
        result.reply_tokens, result.preemptions, result.seconds, rate,
        percentiles_json(result.first_token_seconds),
        percentiles_json(result.between_token_seconds), peak_memory_bytes());
    return;
  }
  fmt::print("{} requests, {} at a time: {} reply tokens in {:.2f} s, {:.1f} tokens/s\n",
             result.requests, flags.concurrent, result.reply_tokens, result.seconds, rate);
  fmt::print("first token, p50 p95 p99     {}\n", percentiles(result.first_token_seconds));
  fmt::print("between tokens, p50 p95 p99  {}\n", percentiles(result.between_token_seconds));
  fmt::print("prefix hits {:.1f} % of {} prompt tokens; {} preemptions; peak memory {:.1f} MB\n",
             100 * found, result.prompt_tokens, result.preemptions,
             static_cast<double>(peak_memory_bytes()) / 1e6);
}

Status run_serving_bench(const BenchFlags& flags) {
  constexpr uint64_t kMostTraceBytes = uint64_t{16} << 20;
  bench::ServingBenchOptions options;
  options.concurrent = flags.concurrent;
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string json, read_file(flags.trace_path, kMostTraceBytes));
  auto trace = bench::parse_trace(json);
  if (!trace.ok()) return annotate(trace.status(), flags.trace_path);
  options.trace = *std::move(trace);
  LOCKSTEP_ASSIGN_OR_RETURN(
      const LoadedModel loaded,
      load_model(flags.load, {.max_rows = 512, .max_logit_rows = flags.concurrent}));
  fmt::print(stderr, "{}\n", loaded.describe());
  LOCKSTEP_ASSIGN_OR_RETURN(const bench::ServingResult result,
                            bench::serve_trace(*loaded.model, *loaded.device, options));
  print_serving(flags, loaded, result);
  return ok_status();
}

Status run_bench(const BenchFlags& flags) {
  if (!flags.trace_path.empty()) return run_serving_bench(flags);
  LOCKSTEP_ASSIGN_OR_RETURN(const LoadedModel loaded,
                            load_model(flags.load, {.max_rows = 512, .max_logit_rows = 1}));
  fmt::print(stderr, "{}\n", loaded.describe());
  const int positions = flags.speed.prompt_tokens + flags.speed.generated_tokens;
  LOCKSTEP_ASSIGN_OR_RETURN(auto runner,
                            engine::Runner::create(*loaded.model, *loaded.device,
                                                   {.max_positions = positions, .chunk_rows = 0}));
  LOCKSTEP_ASSIGN_OR_RETURN(const bench::SpeedResult result,
                            bench::measure(*runner, loaded.model->vocabulary(), flags.speed));
  print_result(flags, loaded, result);
  return ok_status();
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  auto flags = std::make_shared<BenchFlags>();
  CLI::App* command = app.add_subcommand("bench", "Measure prompt and generation speed");
  add_load_flags(*command, flags->load);
  constexpr int kMostTokens = 1 << 20;
  command->add_option("-p,--prompt-tokens", flags->speed.prompt_tokens, "Tokens of the prompt")
      ->check(in_range(1, kMostTokens))
      ->capture_default_str();
  command->add_option("-n,--generated-tokens", flags->speed.generated_tokens, "Tokens to generate")
      ->check(in_range(1, kMostTokens))
      ->capture_default_str();
  command
      ->add_option("-r,--repetitions", flags->speed.repetitions, "Repetitions; medians are shown")
      ->check(in_range(1, 1000))
      ->capture_default_str();
  command->add_option("-o,--output", flags->output, "table or json")
      ->check(CLI::IsMember({"table", "json"}).description(""))
      ->capture_default_str();
  command->add_option("--trace", flags->trace_path,
                      "Serve the requests of this file instead: [[group, shared tokens, prompt "
                      "tokens, reply tokens], ...]");
  command->add_option("--concurrent", flags->concurrent, "Requests of the trace open at a time")
      ->check(in_range(1, 512))
      ->capture_default_str();
  command->footer(
      "Example: lockstep bench -p 512 -n 128 -t 2 -r 5\n"
      "         lockstep bench --trace bench/serving_trace.json --concurrent 16");
  command->callback([flags, &action] { action = [flags] { return run_bench(*flags); }; });
}

}  // namespace lockstep::tools
