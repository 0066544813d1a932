// The regexes of pre-tokenizers, on PCRE2: compiled once, run within limits.
//
// Files spell them for Oniguruma. The pattern is translated construct by construct into PCRE2's
// spelling of the same meaning, and what has no sure translation is refused, so a pattern never
// silently means something else here.
//
// Thread rule: const methods from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace lockstep::text {

struct MatchSpan {
  size_t begin;
  size_t end;
};

// What matching needs besides the pattern: the matcher's memory and the steps left for one text.
// Thread rule: one thread at a time.
class RegexRun {
 public:
  explicit RegexRun(size_t text_bytes);
  ~RegexRun();
  RegexRun(const RegexRun&) = delete;
  RegexRun& operator=(const RegexRun&) = delete;

 private:
  friend class Regex;
  struct State;
  std::unique_ptr<State> state_;
};

class Regex {
 public:
  static constexpr size_t kMaxPatternBytes = 16 << 10;

  enum class Trust : uint8_t {
    kOwn,   // a pattern of ours: known to need time linear in the text
    kFile,  // from a file: every step of the matcher is counted
  };

  // invalid_argument saying what the pattern may not contain.
  static StatusOr<Regex> create(std::string_view pattern, Trust trust);
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  // All matches, left to right, none overlapping; an empty one does not follow directly on another
  // match. resource_exhausted past the limits: a fixed number of steps at one position and, for
  // kFile, a number for the whole run that is proportional to its text. REQUIRES valid UTF-8.
  Status find_all(std::string_view utf8, RegexRun& run, std::vector<MatchSpan>& matches) const;

 private:
  struct Code;
  explicit Regex(std::unique_ptr<const Code> code);
  std::unique_ptr<const Code> code_;
};

// The translation alone, for tests.
StatusOr<std::string> pcre2_from_oniguruma(std::string_view pattern);

}  // namespace lockstep::text
