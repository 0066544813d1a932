// Replacing in text that may grow, within a bound.
//
// Thread rule: pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "text/regex.h"

namespace lockstep::text {

// Each of `places` (ascending, apart) by `with`; the bytes of the result are at most `max_bytes`,
// else resource_exhausted.
StatusOr<std::string> replace_spans(std::string_view text, std::span<const MatchSpan> places,
                                    std::string_view with, size_t max_bytes);

// Each occurrence of `what`, left to right, none overlapping; none of an empty one.
StatusOr<std::string> replace_all(std::string_view text, std::string_view what,
                                  std::string_view with, size_t max_bytes);

}  // namespace lockstep::text
