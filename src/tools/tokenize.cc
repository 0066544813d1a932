// lockstep tokenize: texts or a conversation as token ids, from the tokenizer's files alone.
#include "base/mapped_file.h"
#include "base/text.h"
#include "formats/json.h"
#include "formats/text_files.h"
#include "tools/commands.h"

namespace lockstep::tools {
namespace {

constexpr formats::JsonLimits kFileLimits = {
    .max_bytes = uint64_t{256} << 20, .max_values = uint64_t{1} << 22, .max_depth = 64};

struct TokenizeFlags {
  std::string model;
  std::optional<std::string> text;
  std::string texts_path;
  std::string messages_path;
  bool no_generation_prompt = false;
  bool add_special = false;
  bool plain = false;
  bool json = false;
};

struct Tokenized {
  std::optional<std::string> rendered;  // of a conversation
  std::vector<TokenId> ids;
};

StatusOr<formats::JsonValue> read_json_file(const std::string& path) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string text, read_file(path, kFileLimits.max_bytes));
  auto json = formats::parse_json(text, kFileLimits);
  if (!json.ok()) return annotate(json.status(), path);
  return json;
}

// ["text", ...]
StatusOr<std::vector<std::string>> read_texts(const std::string& path) {
  LOCKSTEP_ASSIGN_OR_RETURN(const formats::JsonValue json, read_json_file(path));
  const formats::JsonArray* list = json.if_array();
  if (list == nullptr) {
    return invalid_argument("{} is {}; expected a list of texts", path, json.describe());
  }
  std::vector<std::string> texts;
  for (size_t i = 0; i < list->size(); ++i) {
    LOCKSTEP_ASSIGN_OR_RETURN(texts.emplace_back(),
                              formats::json_string((*list)[i], fmt::format("{}[{}]", path, i)));
  }
  return texts;
}

StatusOr<Tokenized> tokenize_messages(const TokenizeFlags& flags, const chat::TextSide& side) {
  LOCKSTEP_ASSIGN_OR_RETURN(const formats::JsonValue json, read_json_file(flags.messages_path));
  auto messages = text::chat_messages(json);
  if (!messages.ok()) return annotate(messages.status(), flags.messages_path);
  LOCKSTEP_ASSIGN_OR_RETURN(const auto segments,
                            side.render(*std::move(messages), !flags.no_generation_prompt));
  Tokenized out;
  out.rendered.emplace();
  for (const text::Segment& segment : segments) *out.rendered += segment.text;
  LOCKSTEP_ASSIGN_OR_RETURN(out.ids, side.tokenizer.encode(segments));
  return out;
}

StatusOr<std::vector<Tokenized>> tokenize_texts(const TokenizeFlags& flags,
                                                const text::Tokenizer& tokenizer) {
  std::vector<std::string> texts;
  if (flags.text.has_value()) {
    texts.push_back(*flags.text);
  } else {
    LOCKSTEP_ASSIGN_OR_RETURN(texts, read_texts(flags.texts_path));
  }
  std::vector<Tokenized> out;
  for (size_t i = 0; i < texts.size(); ++i) {
    auto ids = tokenizer.encode(
        texts[i], {.match_specials = !flags.plain, .add_specials = flags.add_special});
    if (!ids.ok()) return annotate(ids.status(), fmt::format("text {}", i));
    out.push_back({.rendered = {}, .ids = *std::move(ids)});
  }
  return out;
}

void print_json(const std::vector<Tokenized>& all, const text::Tokenizer& tokenizer) {
  fmt::print("[");
  for (size_t i = 0; i < all.size(); ++i) {
    fmt::print("{}{{", i == 0 ? "" : ",\n");
    if (all[i].rendered.has_value()) {
      fmt::print("\"text\":{},", formats::json_escaped(*all[i].rendered));
    }
    fmt::print("\"ids\":[");
    for (size_t k = 0; k < all[i].ids.size(); ++k) {
      fmt::print("{}{}", k == 0 ? "" : ",", all[i].ids[k].value());
    }
    fmt::print("],\"decoded\":{}}}",
               formats::json_escaped(tokenizer.decode(all[i].ids, text::Specials::kShow)));
  }
  fmt::print("]\n");
}

// A token a line: its id, what it stands for, and whether it is a control token.
void print_listing(const std::vector<Tokenized>& all, const text::Tokenizer& tokenizer) {
  for (const Tokenized& one : all) {
    if (one.rendered.has_value()) fmt::print("{}\n", formats::json_escaped(*one.rendered));
    for (const TokenId id : one.ids) {
      fmt::print("{:>8}  {}{}\n", id.value(), quote_text(tokenizer.token_bytes(id)),
                 tokenizer.is_control(id) ? "  control" : "");
    }
    fmt::print("{} tokens\n", one.ids.size());
  }
}

// The template only where a conversation asks for it.
StatusOr<chat::TextSide> load_text_side(const TokenizeFlags& flags) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string path, resolve_model(flags.model));
  LOCKSTEP_ASSIGN_OR_RETURN(formats::TextFiles files, formats::read_text_files(path));
  LOCKSTEP_ASSIGN_OR_RETURN(const Vocabulary vocabulary, Vocabulary::create(files.vocabulary_size));
  if (flags.messages_path.empty()) files.chat_template.reset();
  return make_text_side(std::move(files.tokenizer), vocabulary, files.chat_template);
}

Status tokenize(const TokenizeFlags& flags) {
  const int sources = (flags.text.has_value() ? 1 : 0) + (flags.texts_path.empty() ? 0 : 1) +
                      (flags.messages_path.empty() ? 0 : 1);
  if (sources != 1) {
    return invalid_argument("give one of -p TEXT, --file TEXTS.json and --messages MESSAGES.json");
  }
  LOCKSTEP_ASSIGN_OR_RETURN(const chat::TextSide side, load_text_side(flags));
  std::vector<Tokenized> all;
  if (flags.messages_path.empty()) {
    LOCKSTEP_ASSIGN_OR_RETURN(all, tokenize_texts(flags, side.tokenizer));
  } else {
    LOCKSTEP_ASSIGN_OR_RETURN(all.emplace_back(), tokenize_messages(flags, side));
  }
  if (flags.json) {
    print_json(all, side.tokenizer);
  } else {
    print_listing(all, side.tokenizer);
  }
  return ok_status();
}

}  // namespace

void add_tokenize(CLI::App& app, Action& action) {
  auto flags = std::make_shared<TokenizeFlags>();
  CLI::App* command =
      app.add_subcommand("tokenize", "Show text or a conversation as token ids; needs no weights");
  command->add_option("-m,--model", flags->model,
                      "Directory with tokenizer.json, a tokenizer.json, a .gguf file, or name in "
                      "the store (default: " +
                          std::string(kDefaultModel) + ")");
  command->add_option("-p,--prompt", flags->text, "A text");
  command->add_option("--file", flags->texts_path, "Texts: [\"text\", ...] in a file");
  command->add_option("--messages", flags->messages_path,
                      "A conversation, [{\"role\": ..., \"content\": ...}, ...] in a file, put "
                      "through the model's chat template");
  command->add_flag(
      "--no-generation-prompt", flags->no_generation_prompt,
      "With --messages: end after the last message, not where the model's turn begins");
  command->add_flag("--add-special", flags->add_special,
                    "BOS in front and EOS behind a text, where the tokenizer wants them");
  command->add_flag("--plain", flags->plain, "Text that spells a control token stays text");
  command->add_flag("--json", flags->json,
                    "Print [{\"ids\": [...], \"decoded\": ...}, ...], with \"text\" for a "
                    "conversation, and nothing else");
  command->footer("Example: lockstep tokenize -m DIR -p \"Hello, world\"");
  command->callback([flags, &action] { action = [flags] { return tokenize(*flags); }; });
}

}  // namespace lockstep::tools
