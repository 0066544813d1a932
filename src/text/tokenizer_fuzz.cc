// Any bytes through small vocabularies of every kind: text that is UTF-8 comes back as it was,
// other text is refused, and control tokens come from template text alone.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "text/byte_alphabet.h"
#include "text/detokenizer.h"
#include "text/text_replace.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace lockstep::text {
namespace {

void add_specials(formats::TokenizerSpec& spec) {
  for (const bool control : {true, false}) {
    formats::SpecialToken token;
    token.id = static_cast<int64_t>(spec.token_texts.size());
    token.text = control ? "<|c|>" : "<|u|>";
    token.control = control;
    spec.token_texts.push_back(token.text);
    spec.token_kinds.push_back(control ? formats::TokenKind::kControl
                                       : formats::TokenKind::kUserDefined);
    spec.specials.push_back(token);
  }
}

Tokenizer build(formats::TokenizerSpec spec) {
  const auto size = static_cast<int64_t>(spec.token_texts.size());
  return Tokenizer::create(std::move(spec), *Vocabulary::create(size)).value();
}

Tokenizer make_tokenizer() {
  formats::TokenizerSpec spec;
  // Regexes whose steps are counted, one after the other.
  spec.word_steps = {formats::Split{.regex = R"(\p{N}|[\p{L}\p{M}]+(?!x)|\s+)"},
                     formats::Split{.regex = R"([^-]*-)",
                                    .behavior = formats::SplitBehavior::kMergedWithPrevious}};
  spec.decoder = {{.kind = formats::DecoderStep::Kind::kByteAlphabet}};
  const auto add = [&](std::string_view bytes) {
    std::string text;
    for (const char c : bytes) append_utf8(text, byte_alphabet()[static_cast<uint8_t>(c)]);
    spec.token_texts.push_back(text);
    spec.token_kinds.push_back(formats::TokenKind::kNormal);
    return static_cast<int32_t>(spec.token_texts.size()) - 1;
  };
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    add({&c, 1});
  }
  const auto merge = [&](int32_t left, int32_t right, std::string_view whole) {
    spec.merges.emplace_back(left, right);
    spec.merge_results.push_back(add(whole));
    return spec.merge_results.back();
  };
  const int32_t aa = merge('a', 'a', "aa");
  merge(aa, aa, "aaaa");
  merge('b', 'a', "ba");
  merge(aa, 'b', "aab");
  merge(0xc3, 0xa9, "\xc3\xa9");
  add_specials(spec);
  return build(std::move(spec));
}

// Characters, marks for spaces, and bytes for all other characters: by scores for BPE or unigram.
Tokenizer make_marked_tokenizer(formats::TokenModel model) {
  formats::TokenizerSpec spec;
  spec.model = model;
  spec.byte_fallback = true;
  spec.normalizer = {{.kind = formats::NormalizerStep::Kind::kReplace,
                      .pattern = " ",
                      .text = formats::kSpaceMark}};
  spec.decoder = {
      {.kind = formats::DecoderStep::Kind::kReplace, .pattern = formats::kSpaceMark, .text = " "},
      {.kind = formats::DecoderStep::Kind::kByteFallback}};
  const auto add = [&](std::string text, formats::TokenKind kind, double score) {
    spec.token_texts.push_back(std::move(text));
    spec.token_kinds.push_back(kind);
    spec.scores.push_back(score);
  };
  for (int byte = 0; byte < 256; ++byte) {
    add(fmt::format("<0x{:02X}>", byte), formats::TokenKind::kByte, 0);
  }
  double score = -1;
  for (const char* text : {"a", "b", "aa", "aaaa", "ab", "ba", "aab", "\xc3\xa9",
                           formats::kSpaceMark, "\xe2\x96\x81\x61"}) {
    add(text, formats::TokenKind::kNormal, score -= 0.5);
  }
  add("<unk>", formats::TokenKind::kUnknown, 0);
  spec.unknown_id = static_cast<int64_t>(spec.token_texts.size()) - 1;
  add_specials(spec);
  spec.scores.resize(spec.token_texts.size());
  return build(std::move(spec));
}

struct Kind {
  Tokenizer tokenizer;
  bool marked;  // a mark comes back as a space
};

const std::vector<Kind>& kinds() {
  static const auto* kinds = [] {
    auto* list = new std::vector<Kind>;
    list->push_back({make_tokenizer(), false});
    list->push_back({make_marked_tokenizer(formats::TokenModel::kCharacterBpe), true});
    list->push_back({make_marked_tokenizer(formats::TokenModel::kUnigram), true});
    return list;
  }();
  return *kinds;
}

std::string decoded_form(std::string_view text, bool marked) {
  if (!marked) return std::string(text);
  return replace_all(text, formats::kSpaceMark, " ", text.size()).value();
}

void check(const Kind& kind, std::string_view text) {
  const Tokenizer& tokenizer = kind.tokenizer;
  const std::string expected = decoded_form(text, kind.marked);
  const auto ids = tokenizer.encode(text);
  if (ids.ok() != valid_utf8(text) && ids.status().code() != absl::StatusCode::kResourceExhausted) {
    __builtin_trap();
  }
  if (!ids.ok()) return;
  if (tokenizer.decode(*ids, Specials::kShow) != expected) __builtin_trap();
  Detokenizer stream(tokenizer, Specials::kShow);
  std::string streamed;
  for (const TokenId id : *ids) {
    const std::string piece = stream.push(id);
    if (!valid_utf8(piece)) __builtin_trap();
    streamed += piece;
  }
  if (streamed + stream.finish() != expected) __builtin_trap();

  // The first half from a template, the second typed by a user.
  const size_t half = text.size() / 2;
  const Segment segments[] = {{std::string(text.substr(0, half)), Origin::kTemplate},
                              {std::string(text.substr(half)), Origin::kData}};
  const auto mixed = tokenizer.encode(segments);
  if (!mixed.ok() || tokenizer.decode(*mixed, Specials::kShow) != expected) __builtin_trap();
  const auto typed = tokenizer.encode(text, {.match_specials = false});
  for (const TokenId id : *typed) {
    if (tokenizer.is_control(id)) __builtin_trap();
  }
}

}  // namespace
}  // namespace lockstep::text

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  for (const auto& kind : lockstep::text::kinds()) {
    lockstep::text::check(kind, {reinterpret_cast<const char*>(data), size});
  }
  // Bytes that no text could hold: any sequence of ids still streams whole characters.
  lockstep::text::Utf8Assembler assembler;
  std::string out;
  for (size_t i = 0; i < size; ++i) {
    out += assembler.push({reinterpret_cast<const char*>(data) + i, 1});
  }
  out += assembler.finish();
  if (!lockstep::valid_utf8(out)) __builtin_trap();
  return 0;
}
