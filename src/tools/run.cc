// lockstep run: one reply to a prompt, or a conversation on a terminal.
#include <unistd.h>

#include <filesystem>
#include <random>

#include "base/sampling.h"
#include "chat/terminal.h"
#include "engine/runner.h"
#include "formats/json.h"
#include "text/detokenizer.h"
#include "tools/commands.h"
#include "tools/ids_file.h"

namespace lockstep::tools {
namespace {

constexpr int kDefaultReplyTokens = 256;
constexpr int kDefaultChatPositions = 8192;

struct RunFlags {
  LoadFlags load;
  std::optional<std::string> prompt;
  std::string ids_path;
  std::optional<int64_t> max_tokens;
  std::optional<double> temperature, top_p, min_p;
  std::optional<int64_t> top_k;
  std::optional<uint64_t> seed;
  std::string system;
  bool raw = false;
  bool ignore_eos = false;
  bool json = false;

  bool interactive() const { return !prompt.has_value() && ids_path.empty(); }
};

// Flags, else what the model's maker suggests, else greedy.
SamplingFields sampling_fields(const RunFlags& flags, const formats::GenerationDefaults& model) {
  SamplingFields fields;
  fields.temperature = flags.temperature.value_or(model.temperature.value_or(0.0));
  fields.top_k = flags.top_k.value_or(model.top_k.value_or(0));
  fields.top_p = flags.top_p.value_or(model.top_p.value_or(1.0));
  fields.min_p = flags.min_p.value_or(model.min_p.value_or(0.0));
  if (flags.seed.has_value()) {
    fields.seed = *flags.seed;
  } else if (fields.temperature > 0) {
    std::random_device random;
    fields.seed = random();  // 32 bits: short enough to type again
  }
  return fields;
}

// Stdout has been promised one JSON object.
void print_json(const RunFlags& flags, const LoadedModel& loaded, const SamplingFields& fields,
                const engine::Generation& reply, size_t prompt_tokens, std::string_view text) {
  std::string tokens;
  for (const TokenId id : reply.tokens) {
    tokens += fmt::format("{}{}", tokens.empty() ? "" : ",", id.value());
  }
  const double computed = static_cast<double>(prompt_tokens) - reply.reused_tokens;
  fmt::print(
      "{{\"text\":{},\"tokens\":[{}],\"prompt_tokens\":{},\"finish_reason\":\"{}\",\"digest\":\"{}"
      "\","
      "\"model\":{},\"profile\":\"{}\",\"device\":{},\"seed\":{},\"temperature\":{},"
      "\"timings\":{{\"load_ms\":{:.1f},\"prompt_ms\":{:.3f},\"prompt_tokens_per_second\":{:.2f},"
      "\"generation_ms\":{:.3f},\"generation_tokens_per_second\":{:.2f}}}}}\n",
      formats::json_escaped(text), tokens, prompt_tokens, engine::finish_reason_name(reply.finish),
      reply.digest,
      formats::json_escaped(std::filesystem::path(loaded.checkpoint->path()).filename().string()),
      loaded.profile.name(), formats::json_escaped(flags.load.device), fields.seed,
      fields.temperature, loaded.load_seconds * 1e3, reply.prompt_seconds * 1e3,
      computed / reply.prompt_seconds, reply.generation_seconds * 1e3, reply.tokens_per_second());
}

StatusOr<std::vector<TokenId>> read_prompt(const RunFlags& flags, const LoadedModel& loaded,
                                           const chat::TextSide* text) {
  if (!flags.ids_path.empty()) {
    LOCKSTEP_ASSIGN_OR_RETURN(auto lists,
                              read_ids_file(flags.ids_path, loaded.model->vocabulary()));
    if (lists.size() != 1) {
      return invalid_argument("{} has {} lists; run takes exactly one", flags.ids_path,
                              lists.size());
    }
    return std::move(lists.front());
  }
  if (flags.raw) return text->encode_raw(*flags.prompt);
  std::vector<text::ChatMessage> messages;
  if (!flags.system.empty()) messages.push_back({"system", flags.system});
  messages.push_back({"user", *flags.prompt});
  return text->encode_chat(messages);
}

// Positions for a prompt and its reply. A reply that was asked for by its length must fit; one of
// the default length ends where the model's context does.
StatusOr<int> positions_for(size_t prompt, std::optional<int64_t> max_tokens,
                            const model::Model& model) {
  const auto limit = static_cast<size_t>(model.max_positions());
  const size_t wanted = prompt + static_cast<size_t>(max_tokens.value_or(kDefaultReplyTokens));
  if (prompt > limit) {
    return invalid_argument("the prompt has {} tokens; this model reads at most {}", prompt, limit);
  }
  if (max_tokens.has_value() && wanted > limit) {
    return invalid_argument("a prompt of {} tokens and -n {} need {} positions; this model has {}",
                            prompt, *max_tokens, wanted, limit);
  }
  return static_cast<int>(std::min(limit, wanted));
}

Status reply_once(const RunFlags& flags, const LoadedModel& loaded, const SamplingFields& fields,
                  const chat::TextSide* text, engine::GenerateRequest request) {
  LOCKSTEP_ASSIGN_OR_RETURN(const auto prompt, read_prompt(flags, loaded, text));
  request.max_tokens = static_cast<int>(flags.max_tokens.value_or(kDefaultReplyTokens));
  request.digest = flags.json;
  engine::RunnerOptions room;
  LOCKSTEP_ASSIGN_OR_RETURN(room.max_positions,
                            positions_for(prompt.size(), flags.max_tokens, *loaded.model));
  LOCKSTEP_ASSIGN_OR_RETURN(auto runner,
                            engine::Runner::create(*loaded.model, *loaded.device, room));

  std::optional<text::Detokenizer> detokenizer;
  if (text != nullptr) detokenizer.emplace(text->tokenizer);
  std::string said;
  const auto show = [&](const std::string& piece) {
    said += piece;
    if (flags.json) return;
    fmt::print("{}", piece);
    std::fflush(stdout);
  };
  const chat::InterruptScope interrupt;
  request.cancelled = &chat::InterruptScope::interrupted();
  LOCKSTEP_ASSIGN_OR_RETURN(const engine::Generation reply,
                            runner->generate(prompt, request, [&](TokenId token) {
                              if (detokenizer.has_value()) {
                                show(detokenizer->push(token));
                              } else if (!flags.json) {
                                show(fmt::format("{} ", token.value()));
                              }
                            }));
  if (detokenizer.has_value()) show(detokenizer->finish());
  if (flags.json) {
    print_json(flags, loaded, fields, reply, prompt.size(), text != nullptr ? said : "");
    return ok_status();
  }
  fmt::print("\n");
  std::fflush(stdout);
  fmt::print(stderr, "[{} tokens, {:.1f} tokens/s; prompt {} tokens, {:.1f} tokens/s; {}]\n",
             reply.tokens.size(), reply.tokens_per_second(), prompt.size(),
             static_cast<double>(prompt.size()) / reply.prompt_seconds,
             engine::finish_reason_name(reply.finish));
  return ok_status();
}

Status converse(const RunFlags& flags, const LoadedModel& loaded, const chat::TextSide& text,
                const engine::GenerateRequest& request) {
  const int positions = std::min(kDefaultChatPositions, loaded.model->max_positions());
  LOCKSTEP_ASSIGN_OR_RETURN(auto runner,
                            engine::Runner::create(*loaded.model, *loaded.device,
                                                   {.max_positions = positions, .chunk_rows = 0}));
  return chat::converse(*runner, text,
                        {.system = flags.system,
                         .sampling = request.sampling,
                         .stop_ids = request.stop_ids,
                         .max_tokens = static_cast<int>(flags.max_tokens.value_or(positions))});
}

Status check_flags(const RunFlags& flags) {
  if (flags.prompt.has_value() && !flags.ids_path.empty()) {
    return invalid_argument("-p and --ids exclude each other");
  }
  if (!flags.interactive()) return ok_status();
  if (flags.json || flags.raw) {
    return invalid_argument("--json and --raw need a prompt: -p TEXT or --ids FILE.json");
  }
  if (::isatty(STDIN_FILENO) == 0) {
    return invalid_argument(
        "no prompt: give -p TEXT or --ids FILE.json, or start run on a terminal");
  }
  return ok_status();
}

Status run(const RunFlags& flags) {
  LOCKSTEP_RETURN_IF_ERROR(check_flags(flags));
  LOCKSTEP_ASSIGN_OR_RETURN(const LoadedModel loaded,
                            load_model(flags.load, {.max_rows = 512, .max_logit_rows = 1}));

  std::optional<chat::TextSide> text;
  auto side = load_text(loaded);
  if (side.ok()) {
    text.emplace(*std::move(side));
  } else if (!absl::IsNotFound(side.status())) {
    return side.status();
  } else if (flags.ids_path.empty()) {
    return failed_precondition("{}; without a tokenizer a prompt is token ids: --ids FILE.json",
                               message_of(side.status()));
  }
  fmt::print(stderr, "{}\n", loaded.describe());

  const SamplingFields fields = sampling_fields(flags, loaded.checkpoint->generation());
  engine::GenerateRequest request;
  LOCKSTEP_RETURN_IF_ERROR(SamplingParams::create(fields).status());
  request.sampling = fields;
  if (fields.temperature > 0) fmt::print(stderr, "sampling with seed {}\n", fields.seed);
  if (!flags.ignore_eos) {
    LOCKSTEP_ASSIGN_OR_RETURN(request.stop_ids,
                              stop_ids(loaded, text.has_value() ? &*text : nullptr));
  }
  if (flags.interactive()) return converse(flags, loaded, *text, request);
  return reply_once(flags, loaded, fields, text.has_value() ? &*text : nullptr, request);
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App* command =
      app.add_subcommand("run", "Answer a prompt, or hold a conversation on a terminal");
  add_load_flags(*command, flags->load);
  command->add_option("-p,--prompt", flags->prompt,
                      "A user message, put through the model's chat template");
  command->add_option("--ids", flags->ids_path, "Prompt as token ids: [[1, 2, 3]] in a file");
  command
      ->add_option("-n,--max-tokens", flags->max_tokens,
                   fmt::format("Most tokens of a reply (default: {}; in a conversation what fits)",
                               kDefaultReplyTokens))
      ->check(in_range(int64_t{1}, int64_t{1} << 30));
  command->add_option("--temp,--temperature", flags->temperature,
                      "0: greedy (default: the model's own setting, else 0)");
  command->add_option("--top-k", flags->top_k, "Keep the k likeliest; 0 or -1: all");
  command->add_option("--top-p", flags->top_p, "Keep the likeliest with this share; 1: all");
  command->add_option("--min-p", flags->min_p,
                      "Keep what is this likely against the likeliest; 0: all");
  command->add_option("--seed", flags->seed, "Seed of the draws (default: drawn and printed)");
  command->add_option("--system", flags->system, "System message");
  command->add_flag("--raw", flags->raw, "Take -p as plain text, without the chat template");
  command->add_flag("--ignore-eos", flags->ignore_eos, "Go on past the end of the reply");
  command->add_flag("--json", flags->json, "Print one JSON object and nothing else");
  command->footer("Example: lockstep run -p \"What is the capital of France?\"");
  command->callback([flags, &action] { action = [flags] { return run(*flags); }; });
}

}  // namespace lockstep::tools
