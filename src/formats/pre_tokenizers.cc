#include "formats/pre_tokenizers.h"

#include <algorithm>

namespace lockstep::formats {
namespace {

constexpr std::string_view kLlama3Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
    R"(\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
    R"(\s*[\r\n]+|\s+(?!\S)|\s+)";

struct NamedSplits {
  std::vector<std::string_view> names;
  std::vector<Split> splits;
};

const std::vector<NamedSplits>& named_sets() {
  static const std::vector<NamedSplits> sets = [] {
    const auto isolated = [](std::string_view regex) { return Split{.regex = std::string(regex)}; };
    return std::vector<NamedSplits>{
        {{"gpt-2"}, {isolated(kGpt2Words)}},
        {{"smollm"}, {isolated(kNumberRegex), isolated(kGpt2Words)}},
        {{"llama-bpe"}, {isolated(kLlama3Words)}},
        {{"qwen2"}, {isolated(kQwen2Words)}},
        {{"default"},
         {isolated(R"([\p{P}\$\+<=>\^~\|]+)"), isolated(kGpt2Words), isolated(R"(\p{N}+)"),
          isolated(R"([0-9][0-9][0-9])")}},
    };
  }();
  return sets;
}

}  // namespace

const std::vector<Split>* splits_named(std::string_view name) {
  for (const NamedSplits& set : named_sets()) {
    if (std::ranges::find(set.names, name) != set.names.end()) return &set.splits;
  }
  return nullptr;
}

std::string pre_tokenizer_names() {
  std::string names;
  for (const NamedSplits& set : named_sets()) {
    for (const std::string_view name : set.names) {
      names += (names.empty() ? "" : ", ") + std::string(name);
    }
  }
  return names;
}

bool is_known_regex(std::string_view regex) {
  return std::ranges::any_of(named_sets(), [&](const NamedSplits& set) {
    return std::ranges::any_of(set.splits, [&](const Split& s) { return s.regex == regex; });
  });
}

}  // namespace lockstep::formats
