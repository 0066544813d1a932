// lockstep verify: the first promise, shown on this machine and model.
#include "verify/matrix.h"

#include <filesystem>

#include "device/factory.h"
#include "formats/json.h"
#include "tools/commands.h"

namespace lockstep::tools {
namespace {

constexpr model::BuildOptions kBuild{.max_rows = 512, .max_logit_rows = 64};

struct VerifyFlags {
  LoadFlags load;
  bool quick = false;
  bool json = false;
};

// Something to read, for models that have a tokenizer; its words do not matter.
constexpr std::string_view kText =
    "A number that is added in another order may come out as another number. So a machine that "
    "groups its work by how much of it there is gives answers that depend on the crowd: ask alone "
    "and hear one thing, ask among others and hear the next. Here every sum has a shape of its "
    "own, fixed when the weights were read, and whoever computes a part of it computes the same "
    "part. What follows asks the same questions in many ways and compares every bit. ";

std::vector<TokenId> text_of(const LoadedModel& loaded) {
  const auto side = load_text(loaded);
  if (!side.ok()) return {};
  std::string text;
  for (int i = 0; i < 6; ++i) text += kText;
  return side->encode_raw(text).value_or(std::vector<TokenId>());
}

void print_line(const verify::Path& path) {
  fmt::print("{:<40} {:>4} {:>9} {}  {:>6.1f} s  {}\n", path.name, path.requests,
             !path.taken     ? "NOT TAKEN"
             : path.passed() ? "all equal"
                             : fmt::format("{} EQUAL", path.equal),
             path.digest.substr(0, 16), path.seconds, path.note);
  std::fflush(stdout);
}

std::string path_json(const verify::Path& path) {
  return fmt::format(
      "{{\"path\":{},\"requests\":{},\"equal\":{},\"digest\":\"{}\",\"note\":{},\"seconds\":{:.3f}}"
      "}",
      formats::json_escaped(path.name), path.requests, path.equal, path.digest,
      formats::json_escaped(path.note), path.seconds);
}

Status verify_model(const VerifyFlags& flags) {
  LOCKSTEP_ASSIGN_OR_RETURN(const LoadedModel loaded, load_model(flags.load, kBuild));
  fmt::print(stderr, "{}\n", loaded.describe());
  const bool on_cpu = flags.load.device == "cpu";
  const verify::Options options{.quick = flags.quick,
                                .text = text_of(loaded),
                                .isas = on_cpu ? device::cpu_isas() : std::vector<std::string>(),
                                .threads = on_cpu ? flags.load.threads : 1};
  const verify::Elsewhere elsewhere = [&](const std::string& isa, int threads, const auto& use) {
    LoadFlags other = flags.load;
    other.isa = isa;
    other.threads = threads;
    LOCKSTEP_ASSIGN_OR_RETURN(const LoadedModel again, load_model(other, kBuild));
    return use({*again.device, *again.model});
  };
  int failed = 0;
  std::string paths;
  if (!flags.json) {
    fmt::print("{:<40} {:>4} {:>9} {:<16} {:>8}\n", "served", "", "bytes", "digest", "time");
  }
  LOCKSTEP_RETURN_IF_ERROR(verify::run_matrix(
      {*loaded.device, *loaded.model}, elsewhere, options, [&](const verify::Path& path) {
        failed += !path.passed();
        if (!flags.json) print_line(path);
        paths += (paths.empty() ? "" : ",") + path_json(path);
      }));
  if (flags.json) {
    fmt::print(
        "{{\"model\":{},\"profile\":\"{}\",\"device\":{},\"passed\":{},\"paths\":[{}]}}\n",
        formats::json_escaped(std::filesystem::path(loaded.checkpoint->path()).filename().string()),
        loaded.profile.name(), formats::json_escaped(loaded.device->description()), failed == 0,
        paths);
  }
  if (failed > 0)
    return data_loss(
        "{} ways of serving failed: bytes of a reply changed, or it could not be taken", failed);
  if (!flags.json) fmt::print("The same bytes however served.\n");
  return ok_status();
}

}  // namespace

void add_verify(CLI::App& app, Action& action) {
  auto flags = std::make_shared<VerifyFlags>();
  CLI::App* command = app.add_subcommand(
      "verify", "Serve the same requests in many ways and compare every bit of the replies");
  add_load_flags(*command, flags->load);
  command->add_flag("--quick", flags->quick, "Fewer and shorter requests: under a minute");
  command->add_flag("--json", flags->json, "Print one JSON object instead of the table");
  command->footer("Example: lockstep verify --quick");
  command->callback([flags, &action] { action = [flags] { return verify_model(*flags); }; });
}

}  // namespace lockstep::tools
