#include "text/score_merges.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/hash.h"
#include "base/text.h"
#include "text/utf8.h"

namespace lockstep::text {
namespace {

using formats::TokenizerSpec;
using formats::TokenKind;

// Every cut of a token hashes both halves: n characters cost n times its bytes. Gemma's 262,144
// tokens need 2^24.
constexpr uint64_t kMaxHashedBytes = uint64_t{1} << 30;

using TokensByText = absl::flat_hash_map<std::string_view, int32_t, TextHash, std::equal_to<>>;

StatusOr<TokensByText> normal_tokens(const TokenizerSpec& spec) {
  TokensByText tokens;
  uint64_t work = 0;
  for (size_t id = 0; id < spec.token_texts.size(); ++id) {
    const std::string& text = spec.token_texts[id];
    if (spec.token_kinds[id] != TokenKind::kNormal || text.empty()) continue;
    work += uint64_t{text.size()} * text.size();
    if (work > kMaxHashedBytes) {
      return invalid_argument("the squares of all tokens' bytes come to more than {}",
                              kMaxHashedBytes);
    }
    const auto [at, added] = tokens.emplace(text, static_cast<int32_t>(id));
    if (!added) {
      return invalid_argument("token {} {} is there already as token {}", id, quote_text(text),
                              at->second);
    }
  }
  return tokens;
}

// [id]: the place of its score among all distinct scores, the highest first.
std::vector<uint32_t> ranks_of(const std::vector<double>& scores) {
  std::vector<double> sorted = scores;
  std::ranges::sort(sorted, std::greater{});
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  std::vector<uint32_t> ranks;
  ranks.reserve(scores.size());
  for (const double score : scores) {
    const auto at = std::ranges::lower_bound(sorted, score, std::greater{});
    ranks.push_back(static_cast<uint32_t>(at - sorted.begin()));
  }
  return ranks;
}

}  // namespace

Status check_scores(const TokenizerSpec& spec) {
  if (spec.scores.size() != spec.token_texts.size()) {
    return invalid_argument("{} scores for {} tokens; the counts must be equal", spec.scores.size(),
                            spec.token_texts.size());
  }
  const auto finite = [](double score) { return std::isfinite(score); };
  const auto odd = std::ranges::find_if_not(spec.scores, finite);
  if (odd != spec.scores.end()) {
    return invalid_argument("the score of token {} is not a finite number",
                            odd - spec.scores.begin());
  }
  return ok_status();
}

StatusOr<std::vector<RankedMerge>> merges_from_scores(const TokenizerSpec& spec) {
  LOCKSTEP_RETURN_IF_ERROR(check_scores(spec));
  LOCKSTEP_ASSIGN_OR_RETURN(const TokensByText tokens, normal_tokens(spec));
  const std::vector<uint32_t> ranks = ranks_of(spec.scores);
  std::vector<RankedMerge> merges;
  for (size_t id = 0; id < spec.token_texts.size(); ++id) {
    if (spec.token_kinds[id] != TokenKind::kNormal) continue;
    const std::string_view text = spec.token_texts[id];
    for (size_t cut = 0; cut < text.size();) {
      cut += first_code_point(text.substr(cut)).bytes;
      if (cut == text.size()) break;
      const auto left = tokens.find(text.substr(0, cut));
      if (left == tokens.end()) continue;
      const auto right = tokens.find(text.substr(cut));
      if (right == tokens.end()) continue;
      merges.push_back({.left = left->second,
                        .right = right->second,
                        .result = static_cast<int32_t>(id),
                        .rank = ranks[id]});
    }
  }
  return merges;
}

}  // namespace lockstep::text
