#include "tools/load.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "base/text.h"
#include "device/factory.h"

namespace lockstep::tools {
namespace {

namespace fs = std::filesystem;

bool exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

std::string models_in_store(const std::string& store) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(store, error)) {
    if (entry.path().extension() == ".gguf" || entry.is_directory(error)) {
      names.push_back(entry.path().stem().string());
    }
  }
  std::ranges::sort(names);
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out.empty() ? "none" : out;
}

StatusOr<Profile> choose_profile(const LoadFlags& flags, const formats::Checkpoint& checkpoint) {
  Profile profile;
  if (flags.profile.empty()) {
    LOCKSTEP_ASSIGN_OR_RETURN(profile.arithmetic, model::default_arithmetic(checkpoint));
  } else {
    LOCKSTEP_ASSIGN_OR_RETURN(profile.arithmetic, parse_arithmetic(flags.profile));
  }
  profile.kv = Profile::default_kv(profile.arithmetic);
  if (!flags.kv_type.empty()) {
    LOCKSTEP_ASSIGN_OR_RETURN(profile.kv, parse_kv_type(flags.kv_type));
  }
  return profile;
}

}  // namespace

std::string model_store() {
  if (const char* store = std::getenv("LOCKSTEP_MODELS"); store != nullptr && *store != '\0') {
    return store;
  }
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') {
    return std::string(cache) + "/lockstep/models";
  }
  const char* home = std::getenv("HOME");
  return std::string(home != nullptr ? home : ".") + "/.cache/lockstep/models";
}

StatusOr<std::string> resolve_model(const std::string& model) {
  const std::string store = model_store();
  if (model.empty()) {
    std::string path = fmt::format("{}/{}.gguf", store, kDefaultModel);
    if (exists(path)) return path;
    return not_found(
        "the default model is not at {}; fetch it with `make model`, or name one with -m", path);
  }
  if (exists(model)) return model;
  if (model.find('/') == std::string::npos) {
    for (const std::string& path :
         {fmt::format("{}/{}.gguf", store, model), fmt::format("{}/{}", store, model)}) {
      if (exists(path)) return path;
    }
  }
  return not_found("no model {}: neither a path nor a name in {} (there: {})", quote_text(model),
                   store, models_in_store(store));
}

std::string LoadedModel::describe() const {
  return fmt::format("{} | profile {} | {} | weights {:.1f} MB | loaded in {:.2f} s",
                     fs::path(checkpoint->path()).filename().string(), profile.name(),
                     device->description(), static_cast<double>(model->weight_bytes()) / 1e6,
                     load_seconds);
}

StatusOr<LoadedModel> load_model(const LoadFlags& flags, const model::BuildOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  LoadedModel loaded;
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string path, resolve_model(flags.model));
  LOCKSTEP_ASSIGN_OR_RETURN(loaded.checkpoint, formats::open_checkpoint(path));
  LOCKSTEP_ASSIGN_OR_RETURN(loaded.profile, choose_profile(flags, *loaded.checkpoint));
  LOCKSTEP_ASSIGN_OR_RETURN(loaded.device, device::make_device({.name = flags.device,
                                                                .profile = loaded.profile,
                                                                .threads = flags.threads,
                                                                .isa = flags.isa}));
  auto model = model::build_model(*loaded.checkpoint, *loaded.device, options);
  if (!model.ok()) return annotate(model.status(), path);
  loaded.model = *std::move(model);
  loaded.load_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return loaded;
}

StatusOr<chat::TextSide> make_text_side(formats::TokenizerSpec spec, Vocabulary vocabulary,
                                        const std::optional<std::string>& chat_template) {
  LOCKSTEP_ASSIGN_OR_RETURN(text::Tokenizer tokenizer,
                            text::Tokenizer::create(std::move(spec), vocabulary));
  constexpr size_t kMaxNamed = 8;
  const auto& dropped = tokenizer.dropped();
  for (size_t i = 0; i < std::min(dropped.size(), kMaxNamed); ++i) {
    fmt::print(stderr, "note: added token {} ({}) is past the model's {} rows and is not matched\n",
               dropped[i].id, quote_text(dropped[i].text), vocabulary.size());
  }
  if (dropped.size() > kMaxNamed) {
    fmt::print(stderr, "note: and {} more added tokens\n", dropped.size() - kMaxNamed);
  }
  chat::TextSide side = {.tokenizer = std::move(tokenizer), .chat_template = {}};
  if (chat_template.has_value()) {
    LOCKSTEP_ASSIGN_OR_RETURN(side.chat_template, text::ChatTemplate::parse(*chat_template));
  }
  return side;
}

StatusOr<chat::TextSide> load_text(const LoadedModel& loaded) {
  LOCKSTEP_ASSIGN_OR_RETURN(formats::TokenizerSpec spec, loaded.checkpoint->tokenizer());
  auto source = loaded.checkpoint->chat_template();
  if (!source.ok() && !absl::IsNotFound(source.status())) return source.status();
  return make_text_side(std::move(spec), loaded.model->vocabulary(),
                        source.ok() ? std::optional(*std::move(source)) : std::nullopt);
}

StatusOr<std::vector<TokenId>> stop_ids(const LoadedModel& loaded, const chat::TextSide* text) {
  const auto& suggested = loaded.checkpoint->generation().eos_ids;
  const auto& configured = loaded.checkpoint->config().eos_ids;
  auto ids = loaded.model->vocabulary().admit_all(suggested.empty() ? configured : suggested);
  if (!ids.ok()) return annotate(ids.status(), "end-of-sequence ids of the checkpoint");
  if (text != nullptr) {
    if (text->tokenizer.eos().has_value()) ids->push_back(*text->tokenizer.eos());
    for (const TokenId id : text->end_of_turn_ids()) ids->push_back(id);
  }
  return ids;
}

}  // namespace lockstep::tools
