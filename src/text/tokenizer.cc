#include "text/tokenizer.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>
#include <variant>

#include "base/hash.h"
#include "base/text.h"
#include "text/added_tokens.h"
#include "text/bpe_model.h"
#include "text/detokenizer.h"
#include "text/normalizer.h"
#include "text/splitter.h"
#include "text/token_table.h"
#include "text/unigram_model.h"

namespace lockstep::text {
namespace {

using formats::SpecialToken;
using formats::TokenizerSpec;

StatusOr<std::optional<TokenId>> admit_optional(int64_t id, std::string_view name,
                                                Vocabulary vocabulary) {
  if (id == -1) return std::optional<TokenId>();
  auto token = vocabulary.admit(id);
  if (!token.ok()) return annotate(token.status(), name);
  return std::optional(*token);
}

struct SpecialSet {
  AddedTokens raw;         // matched in the text as it came
  AddedTokens normalized;  // matched after normalisation
  absl::flat_hash_map<std::string, TokenId, TextHash, std::equal_to<>> by_text;  // as in the file
  std::vector<SpecialToken> dropped;
};

// Tokens that are matched in normalised text are normalised themselves, and decode to that; where
// two become the same text, the lower id has it.
Status normalize_texts(std::vector<SpecialToken>& tokens, const Normalizer& normalizer,
                       std::vector<std::string>& token_texts) {
  if (normalizer.empty()) return ok_status();
  for (SpecialToken& token : tokens) {
    LOCKSTEP_ASSIGN_OR_RETURN(token.text, normalizer.apply(token.text));
    const auto id = static_cast<size_t>(token.id);
    if (id < token_texts.size()) token_texts[id] = token.text;
  }
  std::erase_if(tokens, [](const SpecialToken& token) { return token.text.empty(); });
  const auto by_text_and_id = [](const SpecialToken& a, const SpecialToken& b) {
    return std::tie(a.text, a.id) < std::tie(b.text, b.id);
  };
  std::ranges::sort(tokens, by_text_and_id);
  const auto same = std::ranges::unique(tokens, {}, &SpecialToken::text);
  tokens.erase(same.begin(), same.end());
  return ok_status();
}

StatusOr<SpecialSet> sort_specials(TokenizerSpec& spec, const Normalizer& normalizer,
                                   Vocabulary vocabulary) {
  SpecialSet set;
  std::vector<SpecialToken> raw;
  std::vector<SpecialToken> normalized;
  for (SpecialToken& token : spec.specials) {
    if (token.id >= vocabulary.size()) {
      set.dropped.push_back(std::move(token));
      continue;
    }
    auto admitted = vocabulary.admit(token.id);
    if (!admitted.ok()) return annotate(admitted.status(), "added token");
    if (const auto [at, added] = set.by_text.emplace(token.text, *admitted); !added) {
      return invalid_argument("added token {} is there twice, as {} and {}", quote_text(token.text),
                              at->second.value(), token.id);
    }
    (token.normalized ? normalized : raw).push_back(std::move(token));
  }
  LOCKSTEP_RETURN_IF_ERROR(normalize_texts(normalized, normalizer, spec.token_texts));
  LOCKSTEP_ASSIGN_OR_RETURN(set.raw, AddedTokens::create(std::move(raw)));
  LOCKSTEP_ASSIGN_OR_RETURN(set.normalized, AddedTokens::create(std::move(normalized)));
  return set;
}

using WordModel = std::variant<BpeModel, UnigramModel>;

StatusOr<WordModel> make_model(const TokenizerSpec& spec, Vocabulary vocabulary) {
  if (spec.model == formats::TokenModel::kUnigram) return UnigramModel::create(spec);
  return BpeModel::create(spec, vocabulary);
}

StatusOr<std::vector<TokenId>> admit_around(std::span<const int64_t> ids, Vocabulary vocabulary) {
  auto tokens = vocabulary.admit_all(ids);
  if (!tokens.ok()) return annotate(tokens.status(), "tokens around a text (BOS, EOS)");
  return tokens;
}

// The ranges that lie inside [begin, end), relative to begin.
std::vector<ByteRange> clip(std::span<const ByteRange> ranges, size_t begin, size_t end) {
  std::vector<ByteRange> clipped;
  for (const ByteRange& range : ranges) {
    const size_t from = std::max(range.begin, begin);
    const size_t to = std::min(range.end, end);
    if (from < to) clipped.push_back({from - begin, to - begin});
  }
  return clipped;
}

}  // namespace

struct Tokenizer::Parts {
  Vocabulary vocabulary;
  TokenTable table;
  SpecialSet specials;
  Normalizer normalizer;
  Splitter splitter;
  WordModel model;
  std::vector<TokenId> prefix;
  std::vector<TokenId> suffix;
  std::optional<TokenId> bos;
  std::optional<TokenId> eos;
};

// One call of encode: the parts, the memory that words share, the ids so far.
class Tokenizer::Encoder {
 public:
  explicit Encoder(const Parts& parts) : parts_(parts) {}

  Status text(std::string_view utf8, std::span<const ByteRange> control_ranges) {
    std::vector<TextPiece> pieces;
    parts_.specials.raw.cut(utf8, control_ranges, pieces);
    for (const TextPiece& piece : pieces) {
      if (piece.token != nullptr) {
        push(static_cast<int32_t>(piece.token->id));
        continue;
      }
      const std::string_view between = utf8.substr(piece.begin, piece.end - piece.begin);
      LOCKSTEP_RETURN_IF_ERROR(
          normalized(between, piece.begin == 0, clip(control_ranges, piece.begin, piece.end)));
    }
    return ok_status();
  }

  std::vector<TokenId> take() { return std::move(ids_); }
  void push(std::span<const TokenId> ids) { ids_.insert(ids_.end(), ids.begin(), ids.end()); }

 private:
  void push(int32_t id) { ids_.push_back(parts_.table.id(id)); }

  Status normalized(std::string_view utf8, bool at_front, std::vector<ByteRange> control_ranges) {
    if (parts_.normalizer.empty() && parts_.specials.normalized.empty()) {
      return words(utf8, at_front);
    }
    LOCKSTEP_ASSIGN_OR_RETURN(const std::string text,
                              parts_.normalizer.apply(utf8, control_ranges));
    std::vector<TextPiece> pieces;
    parts_.specials.normalized.cut(text, control_ranges, pieces);
    for (const TextPiece& piece : pieces) {
      if (piece.token != nullptr) {
        push(static_cast<int32_t>(piece.token->id));
        continue;
      }
      LOCKSTEP_RETURN_IF_ERROR(
          words(std::string_view(text).substr(piece.begin, piece.end - piece.begin),
                at_front && piece.begin == 0));
    }
    return ok_status();
  }

  Status words(std::string_view utf8, bool at_front) {
    LOCKSTEP_RETURN_IF_ERROR(parts_.splitter.cut(utf8, at_front, cut_));
    for (const std::string_view word : cut_.words) {
      word_ids_.clear();
      encode_word(word);
      for (const int32_t id : word_ids_) push(id);
    }
    return ok_status();
  }

  void encode_word(std::string_view word) {
    if (const auto* bpe = std::get_if<BpeModel>(&parts_.model)) {
      bpe->encode(word, bpe_, word_ids_);
    } else {
      std::get<UnigramModel>(parts_.model).encode(word, unigram_, word_ids_);
    }
  }

  const Parts& parts_;
  Words cut_;
  BpeModel::Scratch bpe_;
  UnigramModel::Scratch unigram_;
  std::vector<int32_t> word_ids_;
  std::vector<TokenId> ids_;
};

Tokenizer::Tokenizer(std::unique_ptr<const Parts> parts) : parts_(std::move(parts)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

StatusOr<Tokenizer> Tokenizer::create(TokenizerSpec spec, Vocabulary vocabulary) {
  LOCKSTEP_RETURN_IF_ERROR(TokenTable::check(spec, vocabulary));
  LOCKSTEP_RETURN_IF_ERROR(admit_optional(spec.unknown_id, "unknown token", vocabulary).status());
  LOCKSTEP_ASSIGN_OR_RETURN(WordModel model, make_model(spec, vocabulary));
  LOCKSTEP_ASSIGN_OR_RETURN(Splitter splitter, Splitter::create(spec.word_steps));
  LOCKSTEP_ASSIGN_OR_RETURN(Normalizer normalizer, Normalizer::create(std::move(spec.normalizer)));
  LOCKSTEP_ASSIGN_OR_RETURN(const auto bos, admit_optional(spec.bos_id, "BOS", vocabulary));
  LOCKSTEP_ASSIGN_OR_RETURN(const auto eos, admit_optional(spec.eos_id, "EOS", vocabulary));
  LOCKSTEP_ASSIGN_OR_RETURN(auto prefix, admit_around(spec.prefix_ids, vocabulary));
  LOCKSTEP_ASSIGN_OR_RETURN(auto suffix, admit_around(spec.suffix_ids, vocabulary));
  LOCKSTEP_ASSIGN_OR_RETURN(SpecialSet specials, sort_specials(spec, normalizer, vocabulary));
  LOCKSTEP_ASSIGN_OR_RETURN(TokenTable table, TokenTable::create(spec, vocabulary));
  return Tokenizer(std::unique_ptr<const Parts>(new Parts{
      .vocabulary = vocabulary,
      .table = std::move(table),
      .specials = std::move(specials),
      .normalizer = std::move(normalizer),
      .splitter = std::move(splitter),
      .model = std::move(model),
      .prefix = std::move(prefix),
      .suffix = std::move(suffix),
      .bos = bos,
      .eos = eos,
  }));
}

StatusOr<std::vector<TokenId>> Tokenizer::encode(std::string_view utf8,
                                                 const EncodeOptions& options) const {
  if (utf8.size() > kMaxTextBytes) {
    return invalid_argument("text of {} bytes; at most {} are allowed", utf8.size(), kMaxTextBytes);
  }
  const ByteRange whole{0, utf8.size()};
  return encode_ranges(utf8, std::span(&whole, 1), options);
}

StatusOr<std::vector<TokenId>> Tokenizer::encode(std::span<const Segment> segments,
                                                 const EncodeOptions& options) const {
  std::string text;
  std::vector<ByteRange> from_template;
  for (const Segment& segment : segments) {
    if (segment.text.size() > kMaxTextBytes - text.size()) {
      return invalid_argument("text of more than {} bytes, which is the most allowed",
                              kMaxTextBytes);
    }
    const size_t begin = text.size();
    text += segment.text;
    if (segment.origin != Origin::kTemplate) continue;
    if (!from_template.empty() && from_template.back().end == begin) {
      from_template.back().end = text.size();
    } else {
      from_template.push_back({begin, text.size()});
    }
  }
  return encode_ranges(text, from_template, options);
}

StatusOr<std::vector<TokenId>> Tokenizer::encode_ranges(std::string_view text,
                                                        std::span<const ByteRange> from_template,
                                                        const EncodeOptions& options) const {
  if (const size_t valid = valid_utf8_prefix(text); valid < text.size()) {
    return invalid_argument("the text is not UTF-8 at byte {}", valid);
  }
  Encoder encoder(*parts_);
  if (options.add_specials) encoder.push(parts_->prefix);
  if (!options.match_specials) from_template = {};
  LOCKSTEP_RETURN_IF_ERROR(encoder.text(text, from_template));
  if (options.add_specials) encoder.push(parts_->suffix);
  return encoder.take();
}

std::string Tokenizer::decode(std::span<const TokenId> ids, Specials specials) const {
  Detokenizer stream(*this, specials);
  std::string text;
  for (const TokenId id : ids) text += stream.push(id);
  return text + stream.finish();
}

std::string_view Tokenizer::token_bytes(TokenId id) const {
  return parts_->table.bytes(id.value());
}

bool Tokenizer::is_control(TokenId id) const { return parts_->table.is_control(id.value()); }

bool Tokenizer::loses_spaces_at_front(TokenId id) const {
  return parts_->table.loses_spaces_at_front(id.value());
}

int Tokenizer::spaces_stripped_at_front() const { return parts_->table.spaces_stripped_at_front(); }

std::optional<TokenId> Tokenizer::find_added(std::string_view text) const {
  const auto found = parts_->specials.by_text.find(text);
  if (found == parts_->specials.by_text.end()) return std::nullopt;
  return found->second;
}

std::optional<TokenId> Tokenizer::bos() const { return parts_->bos; }
std::optional<TokenId> Tokenizer::eos() const { return parts_->eos; }
Vocabulary Tokenizer::vocabulary() const { return parts_->vocabulary; }
std::span<const SpecialToken> Tokenizer::dropped() const { return parts_->specials.dropped; }

}  // namespace lockstep::text
