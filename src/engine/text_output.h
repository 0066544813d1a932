// The text of a choice as its tokens come: whole characters, and never a part of a stop string.
//
// Text that may be the start of a stop string is held back until it is decided. A stop string ends
// the text where it begins (or behind itself, where asked for), across any token boundaries.
//
// Thread rule: one thread at a time. Ownership: borrows tokenizer and stop strings.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "text/detokenizer.h"
#include "text/tokenizer.h"

namespace lockstep::engine {

class TextOutput {
 public:
  TextOutput(const text::Tokenizer& tokenizer, std::span<const std::string> stops,
             bool include_stop)
      : detokenizer_(tokenizer), stops_(stops), include_stop_(include_stop) {}

  struct Piece {
    std::string text;      // may be given out now
    bool stopped = false;  // a stop string is complete: the text has ended
  };
  // `may_stop` false: stop strings do not count yet; none is found later in this text.
  Piece push(TokenId token, bool may_stop);
  // What is still held back, after the last token.
  std::string finish();

 private:
  Piece add(std::string_view text, bool may_stop);

  text::Detokenizer detokenizer_;
  std::span<const std::string> stops_;
  bool include_stop_;
  std::string held_;  // shorter than the longest stop string
};

}  // namespace lockstep::engine
