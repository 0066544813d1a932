#include "text/text_replace.h"

#include <algorithm>
#include <utility>

namespace lockstep::text {
namespace {

// A text that stops growing at a bound.
class BoundedText {
 public:
  BoundedText(size_t reserved_bytes, size_t max_bytes) : max_bytes_(max_bytes) {
    text_.reserve(std::min(reserved_bytes, max_bytes));
  }
  void append(std::string_view part) {
    fits_ = fits_ && part.size() <= max_bytes_ - text_.size();
    if (fits_) text_ += part;
  }
  StatusOr<std::string> take() && {
    if (fits_) return std::move(text_);
    return resource_exhausted("the text has more than {} bytes once replaced, which is the most",
                              max_bytes_);
  }

 private:
  std::string text_;
  size_t max_bytes_;
  bool fits_ = true;
};

}  // namespace

StatusOr<std::string> replace_spans(std::string_view text, std::span<const MatchSpan> places,
                                    std::string_view with, size_t max_bytes) {
  BoundedText out(text.size(), max_bytes);
  size_t done = 0;
  for (const MatchSpan& place : places) {
    out.append(text.substr(done, place.begin - done));
    out.append(with);
    done = place.end;
  }
  out.append(text.substr(done));
  return std::move(out).take();
}

StatusOr<std::string> replace_all(std::string_view text, std::string_view what,
                                  std::string_view with, size_t max_bytes) {
  BoundedText out(text.size(), max_bytes);
  while (!what.empty()) {
    const size_t at = text.find(what);
    if (at == text.npos) break;
    out.append(text.substr(0, at));
    out.append(with);
    text.remove_prefix(at + what.size());
  }
  out.append(text);
  return std::move(out).take();
}

}  // namespace lockstep::text
