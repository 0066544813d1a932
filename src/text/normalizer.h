// Normalisation of text before it is cut into words: Unicode forms, replacements, prefixes.
//
// Thread rule: const methods from any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "formats/tokenizer_spec.h"
#include "text/byte_range.h"
#include "text/regex.h"

namespace lockstep::text {

class Normalizer {
 public:
  static constexpr size_t kMaxSteps = 32;
  static constexpr size_t kMaxNormalizedBytes = size_t{128} << 20;

  Normalizer() = default;
  // invalid_argument for too many steps or a regex that may not be used.
  static StatusOr<Normalizer> create(std::vector<formats::NormalizerStep> steps);

  bool empty() const { return steps_.empty(); }

  // All steps in order. Code points that Unicode 15 does not know stay as they are.
  // resource_exhausted when the text grows past kMaxNormalizedBytes or a regex past its limits.
  // REQUIRES valid UTF-8.
  StatusOr<std::string> apply(std::string_view utf8) const;

  // The same, and moves `ranges` (ascending, apart) of the text to where they are afterwards. Where
  // a step works across the end of one, none are left.
  StatusOr<std::string> apply(std::string_view utf8, std::vector<ByteRange>& ranges) const;

 private:
  struct Step {
    formats::NormalizerStep source;
    std::optional<Regex> regex;
  };
  static StatusOr<std::string> apply_step(const Step& step, std::string_view utf8, RegexRun& run);
  static Status move_ranges(const Step& step, std::string_view before, std::string_view after,
                            RegexRun& run, std::vector<ByteRange>& ranges);

  std::vector<Step> steps_;
};

}  // namespace lockstep::text
