#include "engine/text_output.h"

#include <algorithm>

namespace lockstep::engine {
namespace {

// Bytes at the end of `text` that a stop string may begin with.
size_t undecided(std::string_view text, std::span<const std::string> stops) {
  size_t longest = 0;
  for (const std::string& stop : stops) {
    for (size_t n = std::min(stop.size() - 1, text.size()); n > longest; --n) {
      if (text.ends_with(std::string_view(stop).substr(0, n))) longest = n;
    }
  }
  return longest;
}

}  // namespace

TextOutput::Piece TextOutput::push(TokenId token, bool may_stop) {
  return add(detokenizer_.push(token), may_stop);
}

TextOutput::Piece TextOutput::add(std::string_view text, bool may_stop) {
  held_ += text;
  if (!may_stop) return {.text = std::exchange(held_, {}), .stopped = false};
  // The one that begins first; of those that begin together the longest.
  size_t at = held_.npos;
  size_t end = held_.npos;
  for (const std::string& stop : stops_) {
    const size_t found = held_.find(stop);
    if (found == held_.npos) continue;
    if (found < at || (found == at && found + stop.size() > end)) {
      at = found;
      end = found + stop.size();
    }
  }
  if (at != held_.npos) {
    held_.resize(include_stop_ ? end : at);
    return {.text = std::exchange(held_, {}), .stopped = true};
  }
  const size_t kept = undecided(held_, stops_);
  Piece piece{.text = held_.substr(0, held_.size() - kept), .stopped = false};
  held_.erase(0, held_.size() - kept);
  return piece;
}

std::string TextOutput::finish() {
  held_ += detokenizer_.finish();
  return std::exchange(held_, {});
}

}  // namespace lockstep::engine
