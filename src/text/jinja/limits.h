// What one rendering may use. Counted, not timed: the same input meets the same limit everywhere.
#pragma once

#include <cstdint>

namespace lockstep::text::jinja {

// Over a limit is resource_exhausted.
struct Limits {
  int64_t steps = 4'000'000;                // nodes evaluated and items visited
  int64_t work_bytes = int64_t{256} << 20;  // of all values made or searched on the way
  int64_t output_bytes = int64_t{8} << 20;
  int call_depth = 32;  // macros and recursive loops
};

}  // namespace lockstep::text::jinja
