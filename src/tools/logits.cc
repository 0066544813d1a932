// lockstep logits: the logits of every position of given token ids, as a safetensors file.
#include "engine/runner.h"
#include "formats/safetensors_writer.h"
#include "tools/commands.h"
#include "tools/ids_file.h"

namespace lockstep::tools {
namespace {

// Rows of logits held at once: V of them are long, and nothing is gained by more.
constexpr int kRowsAStep = 64;

struct LogitsFlags {
  LoadFlags load;
  std::string ids_path;
  std::string out_path;
};

Status logits(const LogitsFlags& flags) {
  LOCKSTEP_ASSIGN_OR_RETURN(
      const LoadedModel loaded,
      load_model(flags.load, {.max_rows = kRowsAStep, .max_logit_rows = kRowsAStep}));
  fmt::print(stderr, "{}\n", loaded.describe());
  LOCKSTEP_ASSIGN_OR_RETURN(const auto lists,
                            read_ids_file(flags.ids_path, loaded.model->vocabulary()));
  std::vector<formats::TensorSpec> specs;
  size_t longest = 0;
  for (size_t i = 0; i < lists.size(); ++i) {
    longest = std::max(longest, lists[i].size());
    specs.push_back({fmt::format("logits_{}", i),
                     DType::kF32,
                     {static_cast<int64_t>(lists[i].size()), loaded.model->vocabulary().size()}});
  }
  if (longest > static_cast<size_t>(loaded.model->max_positions())) {
    return invalid_argument("a list of {} ids is longer than the model's {} positions", longest,
                            loaded.model->max_positions());
  }
  LOCKSTEP_ASSIGN_OR_RETURN(
      auto runner,
      engine::Runner::create(*loaded.model, *loaded.device,
                             {.max_positions = static_cast<int>(longest), .chunk_rows = 0}));
  LOCKSTEP_ASSIGN_OR_RETURN(auto writer, formats::SafetensorsWriter::create(flags.out_path, specs));
  for (const auto& ids : lists) {
    LOCKSTEP_RETURN_IF_ERROR(runner->score(
        ids, [&](int, std::span<const float> row) { return writer.append(std::as_bytes(row)); }));
  }
  return writer.finish();
}

}  // namespace

void add_logits(CLI::App& app, Action& action) {
  auto flags = std::make_shared<LogitsFlags>();
  CLI::App* command =
      app.add_subcommand("logits", "Write the logits of every position of token ids");
  add_load_flags(*command, flags->load);
  command->add_option("--ids", flags->ids_path, "Token ids: [[1, 2, 3], ...] in a file")
      ->required();
  command
      ->add_option("--out", flags->out_path,
                   "safetensors file; list i becomes logits_i, float32 [T, vocabulary]")
      ->required();
  command->footer("Example: lockstep logits -m DIR --ids ids.json --out logits.safetensors");
  command->callback([flags, &action] { action = [flags] { return logits(*flags); }; });
}

}  // namespace lockstep::tools
