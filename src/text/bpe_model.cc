#include "text/bpe_model.h"

#include <algorithm>

#include "text/byte_alphabet.h"
#include "text/score_merges.h"
#include "text/utf8.h"

namespace lockstep::text {
namespace {

using formats::TokenizerSpec;
using formats::TokenModel;

Status check_merges(const TokenizerSpec& spec, Vocabulary vocabulary) {
  if (spec.merge_results.size() != spec.merges.size() || spec.merges.size() > INT32_MAX) {
    return invalid_argument("{} merge results for {} merges; the counts must be equal",
                            spec.merge_results.size(), spec.merges.size());
  }
  for (size_t i = 0; i < spec.merges.size(); ++i) {
    for (const int32_t id : {spec.merges[i].first, spec.merges[i].second, spec.merge_results[i]}) {
      if (auto token = vocabulary.admit(id); !token.ok()) {
        return annotate(token.status(), fmt::format("merge {}", i));
      }
    }
  }
  return ok_status();
}

StatusOr<std::vector<RankedMerge>> ranked_merges(const TokenizerSpec& spec, Vocabulary vocabulary) {
  if (!spec.scores.empty()) return merges_from_scores(spec);
  LOCKSTEP_RETURN_IF_ERROR(check_merges(spec, vocabulary));
  std::vector<RankedMerge> merges;
  merges.reserve(spec.merges.size());
  for (size_t i = 0; i < spec.merges.size(); ++i) {
    merges.push_back({.left = spec.merges[i].first,
                      .right = spec.merges[i].second,
                      .result = spec.merge_results[i],
                      .rank = static_cast<uint32_t>(i)});
  }
  return merges;
}

}  // namespace

StatusOr<BpeModel> BpeModel::create(const TokenizerSpec& spec, Vocabulary vocabulary) {
  BpeModel model;
  LOCKSTEP_ASSIGN_OR_RETURN(const auto merges, ranked_merges(spec, vocabulary));
  LOCKSTEP_ASSIGN_OR_RETURN(model.merges_, MergeTable::create(merges));
  model.characters_ = spec.model == TokenModel::kCharacterBpe;
  model.unknown_ = static_cast<int32_t>(spec.unknown_id);
  model.fuse_unknown_ = spec.fuse_unknown;
  model.ascii_.fill(kNoToken);
  if (!model.characters_) {
    model.byte_tokens_ = alphabet_byte_tokens(spec);
  } else if (spec.byte_fallback) {
    model.byte_tokens_ = fallback_byte_tokens(spec);
  } else {
    model.byte_tokens_.fill(kNoToken);
  }
  if (spec.ignore_merges) model.whole_words_.emplace();
  for (size_t i = spec.token_texts.size(); i-- > 0;) {  // the lowest id of a text stays
    const std::string& text = spec.token_texts[i];
    if (!is_model_token(spec.token_kinds[i]) || text.empty()) continue;
    const auto id = static_cast<int32_t>(i);
    if (spec.ignore_merges) {
      const bool plain = model.characters_;
      (*model.whole_words_)[plain ? text : bytes_from_alphabet(text).value_or(text)] = id;
    }
    const CodePoint c = first_code_point(text);
    if (c.bytes != text.size()) continue;
    (c.value < model.ascii_.size() ? model.ascii_[c.value] : model.others_[c.value]) = id;
  }
  return model;
}

void BpeModel::encode(std::string_view word, Scratch& scratch, std::vector<int32_t>& ids) const {
  if (whole_words_.has_value()) {
    const auto found = whole_words_->find(word);
    if (found != whole_words_->end()) return ids.push_back(found->second);
  }
  scratch.symbols.clear();
  if (characters_) {
    push_characters(word, scratch.symbols);
  } else {
    push_bytes(word, scratch.symbols);
  }
  merges_.apply(scratch.symbols, scratch.merging);
  ids.insert(ids.end(), scratch.symbols.begin(), scratch.symbols.end());
}

int32_t BpeModel::token_of(char32_t c) const {
  if (c < ascii_.size()) return ascii_[c];
  const auto found = others_.find(c);
  return found == others_.end() ? kNoToken : found->second;
}

void BpeModel::push_bytes(std::string_view word, std::vector<int32_t>& symbols) const {
  bool unknown_before = false;
  for (const char c : word) {
    const int32_t id = byte_tokens_[static_cast<uint8_t>(c)];
    const bool fused = unknown_before && fuse_unknown_;
    unknown_before = id == kNoToken;
    if (id != kNoToken) {
      symbols.push_back(id);
    } else if (unknown_ != kNoToken && !fused) {
      symbols.push_back(unknown_);
    }
  }
}

// As in the `tokenizers` package, an unknown token waits for the next known character: byte tokens
// that come between go in front of it.
void BpeModel::push_characters(std::string_view word, std::vector<int32_t>& symbols) const {
  bool waiting = false;
  while (!word.empty()) {
    const CodePoint c = first_code_point(word);
    const std::string_view bytes = word.substr(0, c.bytes);
    word.remove_prefix(c.bytes);
    const int32_t id = token_of(c.value);
    if (id != kNoToken) {
      if (waiting) symbols.push_back(unknown_);
      waiting = false;
      symbols.push_back(id);
    } else if (!append_byte_tokens(byte_tokens_, bytes, symbols) && unknown_ != kNoToken) {
      if (waiting && !fuse_unknown_) symbols.push_back(unknown_);
      waiting = true;
    }
  }
  if (waiting) symbols.push_back(unknown_);
}

}  // namespace lockstep::text
