#include "formats/pre_tokenizers.h"

#include <algorithm>
#include <initializer_list>

namespace lockstep::formats {
namespace {

// The patterns of the models' own tokenizer.json files; names, and what goes with them, as in
// llama.cpp (src/llama-vocab.cpp).
constexpr std::string_view kLlama3Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
    R"(\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
    R"(\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen35Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|)"
    R"( ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kDeepSeekCjk = "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+";
constexpr std::string_view kDeepSeek3Words =
    "[!\"#$%&'()*+,\\-./"
    ":;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|"
    " ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+";
constexpr std::string_view kDeepSeekCoderCjk = "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+";
constexpr std::string_view kGpt4oWords =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+)"
    R"([\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kTekkenWords =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kSeedCoderWords =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1}| ?[^\\s\\p{L}\\p{N}\r\n]+|"
    "\\s*[\r\n]+|\\s+(?!\\S)|\\s+";

std::vector<NamedPreTokenizer> make_table() {
  const auto all = [](std::initializer_list<std::string_view> regexes) {
    std::vector<Split> splits;
    for (const std::string_view regex : regexes) splits.push_back({.regex = std::string(regex)});
    return splits;
  };
  return {
      {.names = {"default"},
       .splits = all({R"([\p{P}\$\+<=>\^~\|]+)", kGpt2Words, R"(\p{N}+)", "[0-9][0-9][0-9]"})},
      {.names = {"gpt-2", "phi-2", "mpt", "olmo", "jais", "trillion", "granite-docling", "exaone4",
                 "gigachat", "a.x-4.0", "mellum"},
       .splits = all({kGpt2Words})},
      {.names = {"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"},
       .splits = all({kNumberRegex, kGpt2Words})},
      {.names = {"falcon"},
       .splits = all({R"([\p{P}\$\+<=>\^~\|`]+)", kGpt2Words, "[0-9][0-9][0-9]"})},
      {.names = {"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0",
                 "lfm2"},
       .splits = all({kLlama3Words}),
       .ignore_merges = true,
       .add_bos = true},
      {.names = {"dbrx", "smaug-bpe", "glm4", "chatglm-bpe"}, .splits = all({kLlama3Words})},
      {.names = {"qwen2", "deepseek-r1-qwen", "kormo", "megrez", "stablelm2", "hunyuan", "grok-2"},
       .splits = all({kQwen2Words})},
      {.names = {"qwen35"}, .splits = all({kQwen35Words})},
      {.names = {"deepseek-v3", "hunyuan-dense"},
       .splits = all({R"(\p{N}{1,3})", kDeepSeekCjk, kDeepSeek3Words})},
      {.names = {"deepseek-coder"},
       .splits = all({"[\r\n]", R"(\s?\p{L}+)", R"(\s?\p{P}+)", kDeepSeekCoderCjk, R"(\p{N})"})},
      {.names = {"gpt-4o", "llama4", "kanana2"}, .splits = all({kGpt4oWords})},
      {.names = {"tekken"}, .splits = all({kTekkenWords}), .ignore_merges = true, .add_bos = true},
      {.names = {"seed-coder"}, .splits = all({kSeedCoderWords})},
  };
}

const std::vector<NamedPreTokenizer>& table() {
  static const std::vector<NamedPreTokenizer> table = make_table();
  return table;
}

}  // namespace

const NamedPreTokenizer* find_pre_tokenizer(std::string_view name) {
  for (const NamedPreTokenizer& entry : table()) {
    if (std::ranges::find(entry.names, name) != entry.names.end()) return &entry;
  }
  return nullptr;
}

std::string pre_tokenizer_names() {
  std::string names;
  for (const NamedPreTokenizer& entry : table()) {
    for (const std::string_view name : entry.names) {
      names += (names.empty() ? "" : ", ") + std::string(name);
    }
  }
  return names;
}

bool is_known_regex(std::string_view regex) {
  return std::ranges::any_of(table(), [&](const NamedPreTokenizer& entry) {
    return std::ranges::find(entry.splits, regex, &Split::regex) != entry.splits.end();
  });
}

}  // namespace lockstep::formats
