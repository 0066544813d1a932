#include "text/jinja/traced_text.h"

#include <algorithm>

namespace lockstep::text::jinja {
namespace {

size_t run_index(std::span<const TracedText::Run> runs, size_t position) {
  const auto after = [](size_t p, const TracedText::Run& run) { return p < run.end; };
  return std::upper_bound(runs.begin(), runs.end(), position, after) - runs.begin();
}

}  // namespace

void TracedText::append(std::string_view bytes, Origin origin) {
  if (bytes.empty()) return;
  bytes_ += bytes;
  if (!runs_.empty() && runs_.back().origin == origin) {
    runs_.back().end = bytes_.size();
  } else {
    runs_.push_back({bytes_.size(), origin});
  }
}

void TracedText::append(const TracedText& other, size_t position, size_t count) {
  const size_t end = position + count;
  for (size_t i = run_index(other.runs_, position); position < end; ++i) {
    const size_t stop = std::min(other.runs_[i].end, end);
    append(std::string_view(other.bytes_).substr(position, stop - position), other.runs_[i].origin);
    position = stop;
  }
}

TracedText TracedText::substr(size_t position, size_t count) const {
  TracedText out;
  out.append(*this, position, count);
  return out;
}

Origin TracedText::origin_at(size_t position) const {
  return runs_[run_index(runs_, position)].origin;
}

std::vector<Segment> TracedText::segments() const {
  std::vector<Segment> out;
  size_t begin = 0;
  for (const Run& run : runs_) {
    out.push_back({bytes_.substr(begin, run.end - begin), run.origin});
    begin = run.end;
  }
  return out;
}

}  // namespace lockstep::text::jinja
