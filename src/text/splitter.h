// The pre-tokenizer: cuts text into the words that the model encodes one by one.
//
// Thread rule: const methods from any thread.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "formats/tokenizer_spec.h"
#include "text/regex.h"

namespace lockstep::text {

// Words are views into the text that was cut, or into texts that steps made, which live here.
struct Words {
  std::vector<std::string_view> words;
  std::deque<std::string> made;
};

class Splitter {
 public:
  static constexpr size_t kMaxSteps = 16;
  // Of what all steps together make of one text.
  static constexpr size_t kMaxMadeBytes = size_t{256} << 20;

  Splitter() = default;
  // invalid_argument for too many steps or a regex that may not be used.
  static StatusOr<Splitter> create(std::span<const formats::WordStep> steps);

  // Replaces `words` by those of the text, in order. `at_front`: nothing stands before it.
  // resource_exhausted when a regex runs past its limits. REQUIRES valid UTF-8.
  Status cut(std::string_view utf8, bool at_front, Words& words) const;

 private:
  struct RegexSplit {
    Regex regex;
    formats::SplitBehavior behavior;
    bool invert;
  };
  using Step = std::variant<RegexSplit, formats::PrefixSpace, formats::Metaspace>;
  class Cutter;

  std::vector<Step> steps_;
};

}  // namespace lockstep::text
