// Text to token ids and back.
//
// encode: special tokens are cut out first; what lies between is normalised, cut into words by the
// pre-tokenizer, and each word is encoded by the model (BPE over bytes or characters, or unigram).
// The result is a pure function of text, spec and options.
//
// Thread rule: const methods from any thread. Ownership: a Tokenizer owns all it needs.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/vocabulary.h"
#include "formats/tokenizer_spec.h"
#include "text/byte_range.h"
#include "text/segment.h"

namespace lockstep::text {

struct EncodeOptions {
  // Text that spells a control token becomes that token. Added tokens that are not control tokens
  // (tags, runs of spaces) are part of the ordinary vocabulary and are matched either way.
  bool match_specials = true;
  // BOS in front and EOS behind, where the file says that the model wants them. Off for rendered
  // chat templates, which write their own.
  bool add_specials = false;
};

enum class Specials : uint8_t { kHide, kShow };

class Tokenizer {
 public:
  // Longest text that encode takes: well over any context window.
  static constexpr size_t kMaxTextBytes = size_t{8} << 20;

  // invalid_argument where the spec contradicts itself or the vocabulary: an ordinary token, merge
  // or BOS/EOS id at or past V, a regex that does not compile. Added tokens at or past V are
  // dropped from matching and listed by dropped().
  static StatusOr<Tokenizer> create(formats::TokenizerSpec spec, Vocabulary vocabulary);
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // invalid_argument naming the byte offset where the text is not UTF-8, or when it is over
  // kMaxTextBytes; resource_exhausted when a regex runs past its match limit.
  StatusOr<std::vector<TokenId>> encode(std::string_view utf8,
                                        const EncodeOptions& options = {}) const;

  // The same for one text made of pieces: words go on over the borders, so ids are those of the
  // whole text, but a control token is matched only where all its bytes are template text.
  // options.match_specials = false matches none at all.
  StatusOr<std::vector<TokenId>> encode(std::span<const Segment> segments,
                                        const EncodeOptions& options = {}) const;

  // Whole sequences; broken UTF-8 becomes U+FFFD. For streams see Detokenizer.
  std::string decode(std::span<const TokenId> ids, Specials specials = Specials::kHide) const;

  // The bytes that a token stands for: perhaps part of a character; empty for ids without a text.
  std::string_view token_bytes(TokenId id) const;
  // What decoded text loses at its front, of the space that encoding put there (Detokenizer): all
  // spaces of its first token where that is such a token, and this many of the whole text.
  bool loses_spaces_at_front(TokenId id) const;
  int spaces_stripped_at_front() const;
  // Control tokens are hidden from decoded text unless asked for.
  bool is_control(TokenId id) const;
  // By the exact text of an added token, e.g. "<|im_end|>".
  std::optional<TokenId> find_added(std::string_view text) const;

  std::optional<TokenId> bos() const;
  std::optional<TokenId> eos() const;
  Vocabulary vocabulary() const;

  // Added tokens of the file that the model has no row for, for the load log.
  std::span<const formats::SpecialToken> dropped() const;

 private:
  struct Parts;
  class Encoder;
  explicit Tokenizer(std::unique_ptr<const Parts> parts);
  // REQUIRES at most kMaxTextBytes; control tokens are matched inside the ranges alone.
  StatusOr<std::vector<TokenId>> encode_ranges(std::string_view text,
                                               std::span<const ByteRange> from_template,
                                               const EncodeOptions& options) const;

  std::unique_ptr<const Parts> parts_;
};

}  // namespace lockstep::text
