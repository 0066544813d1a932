// lockstep inspect: what a checkpoint is and what it will need, without loading it.
#include <map>

#include "base/checked.h"
#include "base/profile.h"
#include "formats/checkpoint.h"
#include "formats/safetensors.h"
#include "tools/commands.h"

namespace lockstep::tools {
namespace {

struct InspectFlags {
  std::string model;
  bool digest = false;
  bool tensors = false;
  int64_t context = 0;
};

struct TypeTotal {
  int tensors = 0;
  uint64_t bytes = 0;
  int64_t elements = 0;
};

int64_t elements_of(const Shape& shape) {
  int64_t n = 1;
  for (const int64_t d : shape) n *= d;  // the parser has bounded the product
  return n;
}

void print_geometry(const formats::ModelConfig& c) {
  int64_t sliding = 0;
  for (const auto kind : c.layer_kinds) sliding += kind == formats::LayerKind::kSliding;
  fmt::print("family        {}{}\n", c.family,
             c.layout == formats::WeightLayout::kGguf ? " (GGUF)" : "");
  fmt::print(
      "layers        {}{}\n", c.layers,
      sliding > 0 ? fmt::format(" ({} with a window of {})", sliding, c.sliding_window) : "");
  fmt::print("hidden        {}, intermediate {}\n", c.hidden_size, c.intermediate_size);
  fmt::print("heads         {} query, {} key/value, of {}\n", c.heads, c.kv_heads, c.head_size);
  fmt::print("vocabulary    {}{}\n", c.vocab_size, c.tied_embeddings ? ", tied head" : "");
  fmt::print("positions     {}\n", c.max_positions);
}

void print_tensors(std::span<const formats::NamedTensor> tensors, int64_t file_bytes, bool each) {
  std::map<std::string_view, TypeTotal> totals;
  int64_t parameters = 0;
  for (const auto& [name, view] : tensors) {
    TypeTotal& total = totals[dtype_name(view.dtype)];
    ++total.tensors;
    total.bytes += view.bytes.size();
    total.elements += elements_of(view.shape);
    parameters += elements_of(view.shape);
    if (each)
      fmt::print("  {:<48} {:<5} {}\n", name, dtype_name(view.dtype), shape_string(view.shape));
  }
  fmt::print("parameters    {:.1f} M in {:.1f} MB on disk\n", static_cast<double>(parameters) / 1e6,
             static_cast<double>(file_bytes) / 1e6);
  for (const auto& [type, total] : totals) {
    fmt::print("  {:<5} {:>5} tensors {:>10.1f} M elements {:>10.1f} MB\n", type, total.tensors,
               static_cast<double>(total.elements) / 1e6, static_cast<double>(total.bytes) / 1e6);
  }
}

StatusOr<std::vector<formats::NamedTensor>> tensors_of(const formats::Checkpoint& checkpoint) {
  std::vector<formats::NamedTensor> out;
  for (const std::string& name : checkpoint.tensor_names()) {
    LOCKSTEP_ASSIGN_OR_RETURN(const TensorView view, checkpoint.tensor(name));
    out.push_back({.name = name, .view = view});
  }
  return out;
}

// Made as `run` makes it, so that what would be refused there is refused here.
Status print_text_side(const formats::Checkpoint& checkpoint) {
  auto spec = checkpoint.tokenizer();
  if (absl::IsNotFound(spec.status()) || absl::IsUnimplemented(spec.status())) {
    fmt::print("tokenizer     none that can be used: {}\n", message_of(spec.status()));
    return ok_status();
  }
  LOCKSTEP_RETURN_IF_ERROR(spec.status());
  auto source = checkpoint.chat_template();
  if (!source.ok() && !absl::IsNotFound(source.status())) return source.status();
  LOCKSTEP_ASSIGN_OR_RETURN(const Vocabulary vocabulary,
                            Vocabulary::create(checkpoint.config().vocab_size));
  LOCKSTEP_ASSIGN_OR_RETURN(
      const chat::TextSide side,
      make_text_side(*std::move(spec), vocabulary,
                     source.ok() ? std::optional(*std::move(source)) : std::nullopt));
  fmt::print("tokenizer     yes; chat template: {}\n", side.chat_template ? "yes" : "none");
  return ok_status();
}

// Tensors without a model around them.
Status inspect_safetensors(const std::string& path, const InspectFlags& flags) {
  if (flags.digest || flags.context != 0) {
    return invalid_argument("--digest and --context need a whole model, not one file of tensors");
  }
  LOCKSTEP_ASSIGN_OR_RETURN(const auto file, formats::SafetensorsModel::open_file(path));
  fmt::print("file          {}\n", path);
  print_tensors(file.tensors().tensors(), static_cast<int64_t>(file.file_bytes()), flags.tensors);
  return ok_status();
}

void print_memory(const formats::ModelConfig& c, const Profile& profile, int64_t context) {
  const int64_t per_position =
      c.layers * 2 * c.kv_heads * c.head_size * int64_t{kv_bytes(profile.kv)};
  const int64_t positions = round_up(context, kPagePositions);
  fmt::print("profile       {} (unless --profile says otherwise)\n", profile.name());
  fmt::print("K/V           {} bytes a position in {}; {:.1f} MB for a context of {}\n",
             per_position, kv_type_name(profile.kv),
             static_cast<double>(per_position * positions) / 1e6, context);
}

Status inspect(const InspectFlags& flags) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string path, resolve_model(flags.model));
  if (path.ends_with(".safetensors")) return inspect_safetensors(path, flags);
  LOCKSTEP_ASSIGN_OR_RETURN(const auto checkpoint, formats::open_checkpoint(path));
  const formats::ModelConfig& config = checkpoint->config();
  const int64_t context = flags.context == 0 ? config.max_positions : flags.context;
  if (context > config.max_positions) {
    return invalid_argument("a context of {} is past the model's {} positions", context,
                            config.max_positions);
  }
  Profile profile;
  LOCKSTEP_ASSIGN_OR_RETURN(profile.arithmetic, model::default_arithmetic(*checkpoint));
  profile.kv = Profile::default_kv(profile.arithmetic);

  fmt::print("model         {}\n", path);
  print_geometry(config);
  LOCKSTEP_ASSIGN_OR_RETURN(const auto tensors, tensors_of(*checkpoint));
  print_tensors(tensors, checkpoint->file_bytes(), flags.tensors);
  print_memory(config, profile, context);
  LOCKSTEP_RETURN_IF_ERROR(print_text_side(*checkpoint));
  if (flags.digest) {
    LOCKSTEP_ASSIGN_OR_RETURN(const std::string digest, formats::model_digest(*checkpoint));
    fmt::print("digest        {}\n", digest);
  }
  return ok_status();
}

}  // namespace

void add_inspect(CLI::App& app, Action& action) {
  auto flags = std::make_shared<InspectFlags>();
  CLI::App* command =
      app.add_subcommand("inspect", "Show a checkpoint's geometry, tensors, memory and text side");
  command->add_option("model", flags->model,
                      "Directory, .gguf or .safetensors file, or name in the store (default: " +
                          std::string(kDefaultModel) + ")");
  command->add_flag("--digest", flags->digest, "Digest of every tensor and the config (reads all)");
  command->add_flag("--tensors", flags->tensors, "List every tensor");
  command->add_option("--context", flags->context, "Positions to size K/V for (default: all)")
      ->check(in_range(int64_t{1}, formats::kMaxPositions));
  command->footer("Example: lockstep inspect smollm2-135m-instruct-q4_1 --digest");
  command->callback([flags, &action] { action = [flags] { return inspect(*flags); }; });
}

}  // namespace lockstep::tools
