#include "text/tokenizer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "text/added_tokens.h"
#include "text/detokenizer.h"
#include "text/merge_table.h"
#include "text/normalizer.h"
#include "text/splitter.h"
#include "text/token_table.h"

namespace lockstep::text {
namespace {

using formats::SpecialToken;
using formats::TokenizerSpec;

constexpr int32_t kNoToken = -1;

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
  std::vector<SpecialToken> dropped;
};

StatusOr<SpecialSet> sort_specials(std::vector<SpecialToken> specials, Vocabulary vocabulary) {
  SpecialSet set;
  std::vector<SpecialToken> raw;
  std::vector<SpecialToken> normalized;
  for (SpecialToken& token : specials) {
    if (token.id >= vocabulary.size()) {
      set.dropped.push_back(std::move(token));
      continue;
    }
    auto admitted = vocabulary.admit(token.id);
    if (!admitted.ok()) return annotate(admitted.status(), "added token");
    (token.normalized ? normalized : raw).push_back(std::move(token));
  }
  LOCKSTEP_ASSIGN_OR_RETURN(set.raw, AddedTokens::create(std::move(raw)));
  LOCKSTEP_ASSIGN_OR_RETURN(set.normalized, AddedTokens::create(std::move(normalized)));
  return set;
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
  std::vector<formats::Normalization> normalizations;
  Splitter splitter;
  std::array<int32_t, 256> byte_tokens;
  MergeTable merges;
  std::optional<TokenTable::ByBytes> whole_words;  // where the file says that they go before merges
  bool add_bos;
  bool add_eos;
  bool add_space_prefix;
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
      LOCKSTEP_RETURN_IF_ERROR(normalized(between, clip(control_ranges, piece.begin, piece.end)));
    }
    return ok_status();
  }

  std::vector<TokenId> take() { return std::move(ids_); }
  void push(TokenId id) { ids_.push_back(id); }

 private:
  void push(int32_t id) { ids_.push_back(parts_.table.id(id)); }

  Status normalized(std::string_view utf8, std::span<const ByteRange> control_ranges) {
    if (parts_.normalizations.empty() && parts_.specials.normalized.empty()) return words(utf8);
    LOCKSTEP_ASSIGN_OR_RETURN(const std::string text, normalize(utf8, parts_.normalizations));
    // Normalising moves bytes, so where it changed anything, only text that is all from the
    // template keeps its right to control tokens.
    const ByteRange whole{0, utf8.size()};
    const bool all_template =
        control_ranges.size() == 1 && control_ranges[0].end - control_ranges[0].begin == whole.end;
    std::vector<ByteRange> ranges;
    if (text == utf8) {
      ranges.assign(control_ranges.begin(), control_ranges.end());
    } else if (all_template) {
      ranges.push_back({0, text.size()});
    }
    std::vector<TextPiece> pieces;
    parts_.specials.normalized.cut(text, ranges, pieces);
    for (const TextPiece& piece : pieces) {
      if (piece.token != nullptr) {
        push(static_cast<int32_t>(piece.token->id));
        continue;
      }
      LOCKSTEP_RETURN_IF_ERROR(
          words(std::string_view(text).substr(piece.begin, piece.end - piece.begin)));
    }
    return ok_status();
  }

  Status words(std::string_view utf8) {
    std::string prefixed;
    if (parts_.add_space_prefix && !utf8.starts_with(' ')) {
      prefixed = " ";
      prefixed += utf8;
      utf8 = prefixed;
    }
    std::vector<std::string_view> cut;
    LOCKSTEP_RETURN_IF_ERROR(parts_.splitter.cut(utf8, cut));
    for (const std::string_view w : cut) word(w);
    return ok_status();
  }

  void word(std::string_view bytes) {
    if (parts_.whole_words.has_value()) {
      const auto found = parts_.whole_words->find(bytes);
      if (found != parts_.whole_words->end()) return push(found->second);
    }
    symbols_.clear();
    for (const char c : bytes) {
      const int32_t id = parts_.byte_tokens[static_cast<uint8_t>(c)];
      if (id != kNoToken) symbols_.push_back(id);
    }
    parts_.merges.apply(symbols_, scratch_);
    for (const int32_t id : symbols_) push(id);
  }

  const Parts& parts_;
  std::vector<int32_t> symbols_;
  MergeTable::Scratch scratch_;
  std::vector<TokenId> ids_;
};

Tokenizer::Tokenizer(std::unique_ptr<const Parts> parts) : parts_(std::move(parts)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

StatusOr<Tokenizer> Tokenizer::create(TokenizerSpec spec, Vocabulary vocabulary) {
  LOCKSTEP_ASSIGN_OR_RETURN(TokenTable table, TokenTable::create(spec, vocabulary));
  LOCKSTEP_RETURN_IF_ERROR(check_merges(spec, vocabulary));
  LOCKSTEP_ASSIGN_OR_RETURN(MergeTable merges, MergeTable::create(spec.merges, spec.merge_results));
  LOCKSTEP_ASSIGN_OR_RETURN(Splitter splitter, Splitter::create(spec.pre, spec.splits));
  LOCKSTEP_ASSIGN_OR_RETURN(const auto bos, admit_optional(spec.bos_id, "BOS", vocabulary));
  LOCKSTEP_ASSIGN_OR_RETURN(const auto eos, admit_optional(spec.eos_id, "EOS", vocabulary));
  LOCKSTEP_RETURN_IF_ERROR(
      admit_optional(spec.missing_byte_id, "token for missing bytes", vocabulary).status());
  if ((spec.add_bos && !bos.has_value()) || (spec.add_eos && !eos.has_value())) {
    return invalid_argument("the tokenizer adds a BOS or EOS token that it does not name");
  }
  LOCKSTEP_ASSIGN_OR_RETURN(SpecialSet specials,
                            sort_specials(std::move(spec.specials), vocabulary));
  auto byte_tokens = table.byte_tokens();
  std::ranges::replace(byte_tokens, kNoToken, static_cast<int32_t>(spec.missing_byte_id));
  std::optional<TokenTable::ByBytes> whole_words;
  if (spec.ignore_merges) whole_words = table.ordinary_by_bytes();
  return Tokenizer(std::unique_ptr<const Parts>(new Parts{
      .vocabulary = vocabulary,
      .table = std::move(table),
      .specials = std::move(specials),
      .normalizations = std::move(spec.normalizations),
      .splitter = std::move(splitter),
      .byte_tokens = byte_tokens,
      .merges = std::move(merges),
      .whole_words = std::move(whole_words),
      .add_bos = spec.add_bos,
      .add_eos = spec.add_eos,
      .add_space_prefix = spec.add_space_prefix,
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
  if (options.add_specials && parts_->add_bos) encoder.push(*parts_->bos);
  if (!options.match_specials) from_template = {};
  LOCKSTEP_RETURN_IF_ERROR(encoder.text(text, from_template));
  if (options.add_specials && parts_->add_eos) encoder.push(*parts_->eos);
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

std::optional<TokenId> Tokenizer::find_added(std::string_view text) const {
  const SpecialSet& specials = parts_->specials;
  auto found = specials.raw.find(text);
  if (!found.has_value()) found = specials.normalized.find(text);
  if (!found.has_value()) return std::nullopt;
  return parts_->table.id(static_cast<int32_t>(*found));
}

std::optional<TokenId> Tokenizer::bos() const { return parts_->bos; }
std::optional<TokenId> Tokenizer::eos() const { return parts_->eos; }
bool Tokenizer::adds_bos() const { return parts_->add_bos; }
Vocabulary Tokenizer::vocabulary() const { return parts_->vocabulary; }
std::span<const SpecialToken> Tokenizer::dropped() const { return parts_->specials.dropped; }

}  // namespace lockstep::text
