// A tokenizer of a handful of tokens whose ids can be read off, and a builder for variants.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "formats/tokenizer_spec.h"
#include "text/tokenizer.h"

namespace lockstep::text {

// Ids 0 to 255 are the bytes; further ordinary tokens and merges follow as they are added.
class TinySpec {
 public:
  TinySpec();
  // A token made by merging two others, given by their bytes; its id.
  int32_t merge(std::string_view left, std::string_view right);
  // An added token; its id.
  int32_t control(std::string_view text);
  int32_t added(formats::SpecialToken token);

  int64_t size() const { return static_cast<int64_t>(spec.token_texts.size()); }
  // REQUIRES: the spec is good for a vocabulary of its size.
  Tokenizer build() const;
  StatusOr<Tokenizer> build_for(int64_t vocabulary_size) const;

  formats::TokenizerSpec spec;

 private:
  int32_t find(std::string_view bytes) const;
};

// The text of bytes in GPT-2's alphabet.
std::string in_alphabet(std::string_view bytes);

std::vector<int32_t> values(const std::vector<TokenId>& ids);

// The ids, or a test failure.
std::vector<int32_t> encode(const Tokenizer& tokenizer, std::string_view text,
                            const EncodeOptions& options = {});
std::vector<int32_t> encode(const Tokenizer& tokenizer, const std::vector<Segment>& segments,
                            const EncodeOptions& options = {});

}  // namespace lockstep::text
