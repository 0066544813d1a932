#include "formats/pre_tokenizers.h"

#include <algorithm>
#include <array>

namespace lockstep::formats {
namespace {

constexpr std::string_view kGpt2Words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kLlama3Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
    R"(\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
    R"(\s*[\r\n]+|\s+(?!\S)|\s+)";

struct NamedSplits {
  PreTokenizer pre;
  std::vector<Split> splits;
};

const auto& named_sets() {
  static const std::array<NamedSplits, 4> sets = [] {
    const auto isolated = [](std::string_view regex) { return Split{.regex = std::string(regex)}; };
    return std::array<NamedSplits, 4>{{
        {PreTokenizer::kGpt2, {isolated(kGpt2Words)}},
        {PreTokenizer::kSmolLm, {isolated(kNumberRegex), isolated(kGpt2Words)}},
        {PreTokenizer::kLlama3, {isolated(kLlama3Words)}},
        {PreTokenizer::kQwen2, {isolated(kQwen2Words)}},
    }};
  }();
  return sets;
}

}  // namespace

std::span<const Split> splits_of(PreTokenizer pre) {
  for (const NamedSplits& set : named_sets()) {
    if (set.pre == pre) return set.splits;
  }
  return {};
}

PreTokenizer recognise_splits(std::span<const Split> splits) {
  for (const NamedSplits& set : named_sets()) {
    if (std::ranges::equal(set.splits, splits)) return set.pre;
  }
  return PreTokenizer::kCustom;
}

bool is_known_regex(std::string_view regex) {
  return std::ranges::any_of(named_sets(), [&](const NamedSplits& set) {
    return std::ranges::any_of(set.splits, [&](const Split& s) { return s.regex == regex; });
  });
}

}  // namespace lockstep::formats
