#include "text/testing/tiny_tokenizer.h"

#include <algorithm>

#include "formats/pre_tokenizers.h"
#include "text/byte_alphabet.h"
#include "text/utf8.h"

namespace lockstep::text {

std::string in_alphabet(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) append_utf8(text, byte_alphabet()[static_cast<uint8_t>(c)]);
  return text;
}

TinySpec::TinySpec() {
  spec.word_steps = {formats::Split{.regex = std::string(formats::kGpt2Words)}};
  spec.decoder = {{.kind = formats::DecoderStep::Kind::kByteAlphabet}};
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    spec.token_texts.push_back(in_alphabet({&c, 1}));
    spec.token_kinds.push_back(formats::TokenKind::kNormal);
  }
}

int32_t TinySpec::find(std::string_view bytes) const {
  const auto found = std::ranges::find(spec.token_texts, in_alphabet(bytes));
  EXPECT_NE(found, spec.token_texts.end()) << bytes;
  return static_cast<int32_t>(found - spec.token_texts.begin());
}

int32_t TinySpec::merge(std::string_view left, std::string_view right) {
  const std::string whole = std::string(left) + std::string(right);
  const auto id = static_cast<int32_t>(size());
  spec.merges.emplace_back(find(left), find(right));
  spec.merge_results.push_back(id);
  spec.token_texts.push_back(in_alphabet(whole));
  spec.token_kinds.push_back(formats::TokenKind::kNormal);
  return id;
}

int32_t TinySpec::control(std::string_view text) {
  formats::SpecialToken token;
  token.text = text;
  token.control = true;
  return added(token);
}

int32_t TinySpec::added(formats::SpecialToken token) {
  token.id = size();
  spec.token_texts.push_back(token.text);
  spec.token_kinds.push_back(token.control ? formats::TokenKind::kControl
                                           : formats::TokenKind::kUserDefined);
  spec.specials.push_back(token);
  return static_cast<int32_t>(token.id);
}

StatusOr<Tokenizer> TinySpec::build_for(int64_t vocabulary_size) const {
  LOCKSTEP_ASSIGN_OR_RETURN(const Vocabulary vocabulary, Vocabulary::create(vocabulary_size));
  return Tokenizer::create(spec, vocabulary);
}

Tokenizer TinySpec::build() const { return build_for(size()).value(); }

std::vector<int32_t> values(const std::vector<TokenId>& ids) {
  std::vector<int32_t> out;
  for (const TokenId id : ids) out.push_back(id.value());
  return out;
}

std::vector<int32_t> encode(const Tokenizer& tokenizer, std::string_view text,
                            const EncodeOptions& options) {
  const auto ids = tokenizer.encode(text, options);
  EXPECT_TRUE(ids.ok()) << ids.status();
  return ids.ok() ? values(*ids) : std::vector<int32_t>{};
}

std::vector<int32_t> encode(const Tokenizer& tokenizer, const std::vector<Segment>& segments,
                            const EncodeOptions& options) {
  const auto ids = tokenizer.encode(segments, options);
  EXPECT_TRUE(ids.ok()) << ids.status();
  return ids.ok() ? values(*ids) : std::vector<int32_t>{};
}

}  // namespace lockstep::text
