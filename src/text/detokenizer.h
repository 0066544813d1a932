// Token ids to text as they come: every string given out is whole characters.
//
//   Detokenizer out(tokenizer);
//   for (TokenId id : reply) print(out.push(id));
//   print(out.finish());
//
// All strings together equal Tokenizer::decode of all ids.
//
// Thread rule: one thread at a time. Ownership: borrows the tokenizer, which must outlive it.
#pragma once

#include <string>

#include "text/tokenizer.h"

namespace lockstep::text {

// Joins bytes into whole characters; what can never become one is U+FFFD, one for each maximal
// well-formed prefix (Unicode 15, section 3.9, "Substitution of maximal subparts").
class Utf8Assembler {
 public:
  // The characters that are complete after these bytes.
  std::string push(std::string_view bytes);
  // U+FFFD for a character that was cut off, else nothing.
  std::string finish();

 private:
  std::string pending_;  // at most 3 bytes: the front of a character
};

class Detokenizer {
 public:
  explicit Detokenizer(const Tokenizer& tokenizer, Specials specials = Specials::kHide)
      : tokenizer_(&tokenizer), specials_(specials) {
    begin();
  }

  // May be empty: a control token that is hidden, or half a character.
  std::string push(TokenId id);
  // After the last token. The detokenizer is then as new.
  std::string finish();

 private:
  void begin();

  const Tokenizer* tokenizer_;
  Specials specials_;
  Utf8Assembler characters_;
  bool first_token_ = true;
  int spaces_to_strip_ = 0;
};

}  // namespace lockstep::text
