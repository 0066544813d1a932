#include "text/unigram_model.h"

#include <algorithm>
#include <limits>

#include "text/score_merges.h"
#include "text/utf8.h"

namespace lockstep::text {
namespace {

using formats::TokenizerSpec;

constexpr double kUnknownPenalty = 10.0;
constexpr double kUnreached = -std::numeric_limits<double>::infinity();

}  // namespace

StatusOr<UnigramModel> UnigramModel::create(const TokenizerSpec& spec) {
  LOCKSTEP_RETURN_IF_ERROR(check_scores(spec));
  if (spec.unknown_id < 0) return invalid_argument("a unigram model needs an unknown token");
  UnigramModel model;
  std::vector<std::pair<std::string_view, int32_t>> entries;
  for (size_t id = 0; id < spec.token_texts.size(); ++id) {
    const std::string& text = spec.token_texts[id];
    if (text.empty() || spec.token_kinds[id] != formats::TokenKind::kNormal) continue;
    if (text.size() > kMaxTokenBytes) {
      return invalid_argument("token {} has {} bytes; a unigram model's have at most {}", id,
                              text.size(), kMaxTokenBytes);
    }
    entries.emplace_back(text, static_cast<int32_t>(id));
  }
  LOCKSTEP_ASSIGN_OR_RETURN(model.tokens_, ByteTrie::create(std::move(entries)));
  model.scores_ = spec.scores;
  const double lowest = spec.scores.empty() ? 0.0 : std::ranges::min(spec.scores);
  model.unknown_score_ = lowest - kUnknownPenalty;
  model.unknown_ = static_cast<int32_t>(spec.unknown_id);
  model.byte_tokens_.fill(kNoToken);
  if (spec.byte_fallback) model.byte_tokens_ = fallback_byte_tokens(spec);
  return model;
}

void UnigramModel::find_best(std::string_view word, std::vector<Step>& steps) const {
  steps.assign(word.size() + 1, {kUnreached, kNoToken, 0});
  steps[0].score = 0;
  const auto offer = [&](size_t begin, size_t end, double score, int32_t token) {
    if (score > steps[end].score) steps[end] = {score, token, static_cast<uint32_t>(begin)};
  };
  for (size_t at = 0; at < word.size();) {
    const size_t character = first_code_point(word.substr(at)).bytes;
    const double so_far = steps[at].score;
    bool known = false;
    tokens_.prefixes(word.substr(at), [&](size_t bytes, int32_t token) {
      offer(at, at + bytes, scores_[static_cast<size_t>(token)] + so_far, token);
      known = known || bytes == character;
    });
    if (!known) offer(at, at + character, unknown_score_ + so_far, unknown_);
    at += character;
  }
}

void UnigramModel::encode(std::string_view word, Scratch& scratch,
                          std::vector<int32_t>& ids) const {
  auto& [steps, ends] = scratch;
  find_best(word, steps);
  ends.clear();
  for (size_t end = word.size(); end > 0; end = steps[end].begin) ends.push_back(end);
  // From the back: the ends of tokens in order.
  for (size_t i = ends.size(); i-- > 0;) {
    const int32_t token = steps[ends[i]].token;
    const size_t begin = steps[ends[i]].begin;
    if (token != unknown_) {
      ids.push_back(token);
      continue;
    }
    while (i > 0 && steps[ends[i - 1]].token == unknown_) --i;
    const std::string_view unknown = word.substr(begin, ends[i] - begin);
    if (!append_byte_tokens(byte_tokens_, unknown, ids)) ids.push_back(unknown_);
  }
}

}  // namespace lockstep::text
