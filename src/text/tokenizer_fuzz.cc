// Any bytes through a small vocabulary: text that is UTF-8 comes back as it was, other text is
// refused, and control tokens come from template text alone.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.h"
#include "text/byte_alphabet.h"
#include "text/detokenizer.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace lockstep::text {
namespace {

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
  const auto size = static_cast<int64_t>(spec.token_texts.size());
  return Tokenizer::create(std::move(spec), *Vocabulary::create(size)).value();
}

void check(const Tokenizer& tokenizer, std::string_view text) {
  const auto ids = tokenizer.encode(text);
  if (ids.ok() != valid_utf8(text) && ids.status().code() != absl::StatusCode::kResourceExhausted) {
    __builtin_trap();
  }
  if (!ids.ok()) return;
  if (tokenizer.decode(*ids, Specials::kShow) != text) __builtin_trap();
  Detokenizer stream(tokenizer, Specials::kShow);
  std::string streamed;
  for (const TokenId id : *ids) {
    const std::string piece = stream.push(id);
    if (!valid_utf8(piece)) __builtin_trap();
    streamed += piece;
  }
  if (streamed + stream.finish() != text) __builtin_trap();

  // The first half from a template, the second typed by a user.
  const size_t half = text.size() / 2;
  const Segment segments[] = {{std::string(text.substr(0, half)), Origin::kTemplate},
                              {std::string(text.substr(half)), Origin::kData}};
  const auto mixed = tokenizer.encode(segments);
  if (!mixed.ok() || tokenizer.decode(*mixed, Specials::kShow) != text) __builtin_trap();
  const auto typed = tokenizer.encode(text, {.match_specials = false});
  for (const TokenId id : *typed) {
    if (tokenizer.is_control(id)) __builtin_trap();
  }
}

}  // namespace
}  // namespace lockstep::text

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const lockstep::text::Tokenizer tokenizer = lockstep::text::make_tokenizer();
  lockstep::text::check(tokenizer, {reinterpret_cast<const char*>(data), size});
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
