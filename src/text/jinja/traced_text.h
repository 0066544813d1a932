// A string whose every byte knows its origin (text/segment.h).
//
// Operations keep the origin of each byte they move: append, substr, and what the engine builds on
// them (slices, strip, split, replace, join, case mapping). Characters that the engine itself
// writes (digits of a number, brackets of a list, JSON's quotes) count as template text: they
// cannot spell a marker, since what lies between them keeps its own origin.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/segment.h"

namespace lockstep::text::jinja {

class TracedText {
 public:
  // Bytes from the previous run's end (0 for the first) up to `end` have one origin.
  struct Run {
    size_t end;
    Origin origin;
  };

  TracedText() = default;
  TracedText(std::string bytes, Origin origin) : bytes_(std::move(bytes)) {
    if (!bytes_.empty()) runs_.push_back({bytes_.size(), origin});
  }

  const std::string& bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  // Neighbouring runs differ in origin; the last one ends at size().
  std::span<const Run> runs() const { return runs_; }

  void append(std::string_view bytes, Origin origin);
  void append(const TracedText& other) { append(other, 0, other.size()); }
  // other[position, position + count). REQUIRES: within other.
  void append(const TracedText& other, size_t position, size_t count);
  TracedText substr(size_t position, size_t count) const;

  // REQUIRES position < size().
  Origin origin_at(size_t position) const;

  std::vector<Segment> segments() const;

 private:
  std::string bytes_;
  std::vector<Run> runs_;
};

}  // namespace lockstep::text::jinja
