#include "text/detokenizer.h"

#include <algorithm>
#include <iterator>

#include "text/utf8.h"

namespace lockstep::text {
namespace {

constexpr size_t kLongestSequence = 4;

// Bytes of the longest front of text that some well-formed sequence begins with; text begins none
// that is complete.
size_t maximal_subpart(std::string_view text) {
  // Whether more bytes could complete a front is decided by its first two: each later byte may be
  // any continuation byte.
  const auto could_begin = [](std::string_view front) {
    for (const char second : {'\x80', '\x90', '\xa0'}) {
      std::string whole(front);
      if (whole.size() < 2) whole += second;
      while (whole.size() < kLongestSequence) whole += '\x80';
      if (utf8_sequence_length(whole) > front.size()) return true;
    }
    return false;
  };
  size_t length = 0;
  while (length < std::min(text.size(), kLongestSequence) &&
         could_begin(text.substr(0, length + 1))) {
    ++length;
  }
  return length;
}

}  // namespace

std::string Utf8Assembler::push(std::string_view bytes) {
  std::string joined;
  if (!pending_.empty()) {
    joined = pending_;
    joined += bytes;
    bytes = joined;
    pending_.clear();
  }
  std::string out;
  while (!bytes.empty()) {
    const size_t valid = valid_utf8_prefix(bytes);
    out += bytes.substr(0, valid);
    bytes.remove_prefix(valid);
    if (bytes.empty()) break;
    const size_t front = maximal_subpart(bytes);
    if (front == bytes.size()) {
      pending_ = bytes;
      break;
    }
    out += kReplacementCharacter;
    bytes.remove_prefix(std::max<size_t>(front, 1));
  }
  return out;
}

std::string Utf8Assembler::finish() {
  if (pending_.empty()) return "";
  pending_.clear();
  return std::string(kReplacementCharacter);
}

void Detokenizer::begin() {
  first_token_ = true;
  spaces_to_strip_ = tokenizer_->spaces_stripped_at_front();
}

std::string Detokenizer::push(TokenId id) {
  if (specials_ == Specials::kHide && tokenizer_->is_control(id)) return "";
  std::string_view bytes = tokenizer_->token_bytes(id);
  std::string without_spaces;
  if (first_token_ && tokenizer_->loses_spaces_at_front(id)) {
    std::ranges::remove_copy(bytes, std::back_inserter(without_spaces), ' ');
    bytes = without_spaces;
  }
  first_token_ = false;
  while (spaces_to_strip_ > 0 && bytes.starts_with(' ')) {
    bytes.remove_prefix(1);
    --spaces_to_strip_;
  }
  if (!bytes.empty()) spaces_to_strip_ = 0;
  return characters_.push(bytes);
}

std::string Detokenizer::finish() {
  begin();
  return characters_.finish();
}

}  // namespace lockstep::text
