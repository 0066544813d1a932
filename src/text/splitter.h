// The pre-tokenizer: cuts text into the words that the model encodes one by one.
//
// Thread rule: const methods from any thread.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "formats/tokenizer_spec.h"
#include "text/regex.h"

namespace lockstep::text {

class Splitter {
 public:
  static constexpr size_t kMaxSplits = 16;

  // The splits of a named set, or `custom` for PreTokenizer::kCustom. invalid_argument for a regex
  // that may not be used.
  static StatusOr<Splitter> create(formats::PreTokenizer pre,
                                   std::span<const formats::Split> custom);

  // Appends the words of the text, in order, as views into it. resource_exhausted when a regex
  // runs past its limits. REQUIRES valid UTF-8.
  Status cut(std::string_view utf8, std::vector<std::string_view>& words) const;

 private:
  struct Step {
    Regex regex;
    formats::SplitBehavior behavior;
    bool invert;
  };
  std::vector<Step> steps_;
};

}  // namespace lockstep::text
