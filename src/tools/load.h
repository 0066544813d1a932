// From a model's name on the command line to everything a command needs: checkpoint, device, model,
// tokenizer, template.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/profile.h"
#include "base/status.h"
#include "chat/text_side.h"
#include "device/device.h"
#include "formats/checkpoint.h"
#include "model/model.h"

namespace lockstep::tools {

// The model that commands use without -m; `make model` puts it into the store.
inline constexpr const char* kDefaultModel = "smollm2-135m-instruct-q4_1";

// $LOCKSTEP_MODELS, else lockstep/models under $XDG_CACHE_HOME or ~/.cache.
std::string model_store();

// A directory, a .gguf file, or the name of one in the store; empty: the default model. not_found
// saying where it looked and how to get the default.
StatusOr<std::string> resolve_model(const std::string& model);

// Flags that every computing command takes.
struct LoadFlags {
  std::string model;
  int threads = 0;  // set to the number of usable cores by add_load_flags
  std::string profile;
  std::string kv_type;
  std::string device = "cpu";
  std::string isa = {};  // of the CPU device; no flag: for `verify`
};

struct LoadedModel {
  std::unique_ptr<formats::Checkpoint> checkpoint;
  Profile profile;
  std::unique_ptr<device::Device> device;
  std::unique_ptr<model::Model> model;
  double load_seconds = 0;

  // One line: model, profile, device, weights, time.
  std::string describe() const;
};

StatusOr<LoadedModel> load_model(const LoadFlags& flags, const model::BuildOptions& options);

// Names dropped added tokens on standard error.
StatusOr<chat::TextSide> make_text_side(formats::TokenizerSpec spec, Vocabulary vocabulary,
                                        const std::optional<std::string>& chat_template);

// The tokenizer and, where there is one, the chat template. not_found when the checkpoint has no
// tokenizer.
StatusOr<chat::TextSide> load_text(const LoadedModel& loaded);

// Ids that end a reply: the config's, the generation config's and the tokenizer's, each admitted.
// `text` may be null.
StatusOr<std::vector<TokenId>> stop_ids(const LoadedModel& loaded, const chat::TextSide* text);

}  // namespace lockstep::tools
