#include "text/added_tokens.h"

#include <algorithm>

#include "base/text.h"
#include "text/character_class.h"
#include "text/utf8.h"

namespace lockstep::text {
namespace {

using formats::SpecialToken;

bool stands_alone(std::string_view text, size_t begin, size_t end) {
  if (begin > 0) {
    const size_t before = last_code_point_begin(text.substr(0, begin));
    if (is_word_character(first_code_point(text.substr(before)).value)) return false;
  }
  return end == text.size() || !is_word_character(first_code_point(text.substr(end)).value);
}

}  // namespace

StatusOr<AddedTokens> AddedTokens::create(std::vector<SpecialToken> tokens) {
  if (tokens.size() > kMaxTokens) {
    return invalid_argument("{} added tokens; at most {} are allowed", tokens.size(), kMaxTokens);
  }
  AddedTokens added;
  std::ranges::sort(tokens, {}, &SpecialToken::text);
  for (size_t i = 0; i < tokens.size(); ++i) {
    const std::string& text = tokens[i].text;
    if (text.empty() || text.size() > kMaxTextBytes || !valid_utf8(text)) {
      return invalid_argument("added token {} has {} bytes; expected UTF-8 of 1 to {}",
                              tokens[i].id, text.size(), kMaxTextBytes);
    }
    if (i > 0 && tokens[i - 1].text == text) {
      return invalid_argument("added token {} is there twice, as {} and {}", quote_text(text),
                              tokens[i - 1].id, tokens[i].id);
    }
    ++added.first_[static_cast<uint8_t>(text[0]) + 1];
  }
  for (size_t b = 1; b < added.first_.size(); ++b) added.first_[b] += added.first_[b - 1];
  added.tokens_ = std::move(tokens);
  return added;
}

// The tokens that share the first k bytes with the text are neighbours in the sorted table; each
// further byte narrows that range.
const SpecialToken* AddedTokens::longest_match(std::string_view text, size_t at,
                                               size_t control_end) const {
  const auto lead = static_cast<uint8_t>(text[at]);
  auto begin = tokens_.begin() + first_[lead];
  auto end = tokens_.begin() + first_[lead + 1];
  const SpecialToken* best = nullptr;
  for (size_t length = 1; begin != end; ++length) {
    // The shortest sorts first, and texts are distinct: only *begin can be complete.
    if (begin->text.size() == length) {
      if (!begin->control || at + length <= control_end) best = &*begin;
      ++begin;
    }
    if (at + length == text.size()) break;
    const auto byte_at = [length](const SpecialToken& t) {
      return static_cast<uint8_t>(t.text[length]);
    };
    const auto narrowed =
        std::ranges::equal_range(begin, end, static_cast<uint8_t>(text[at + length]), {}, byte_at);
    begin = narrowed.begin();
    end = narrowed.end();
  }
  return best;
}

// The white space that a token takes in on its right is looked through for tokens all the same, as
// in the `tokenizers` package: one that is found there ends what the first took.
void AddedTokens::cut(std::string_view text, std::span<const ByteRange> control_ranges,
                      std::vector<TextPiece>& pieces) const {
  pieces.clear();
  size_t done = 0;  // all before it is in pieces
  size_t range = 0;
  for (size_t at = 0; at < text.size();) {
    while (range < control_ranges.size() && control_ranges[range].end <= at) ++range;
    const bool inside = range < control_ranges.size() && control_ranges[range].begin <= at;
    const SpecialToken* token =
        longest_match(text, at, inside ? control_ranges[range].end : size_t{0});
    if (token == nullptr) {
      ++at;
      continue;
    }
    const size_t match = at;
    at += token->text.size();
    if (token->single_word && !stands_alone(text, match, at)) continue;
    const size_t begin = token->strip_left ? skip_spaces_left(text, match, done) : match;
    const size_t end = token->strip_right ? skip_spaces_right(text, at) : at;
    if (done < begin) pieces.push_back({done, begin, nullptr});
    pieces.push_back({begin, end, token});
    done = end;
  }
  if (done < text.size()) pieces.push_back({done, text.size(), nullptr});
}

}  // namespace lockstep::text
