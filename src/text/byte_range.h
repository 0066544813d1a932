// A stretch of a text's bytes.
#pragma once

#include <cstddef>

namespace lockstep::text {

struct ByteRange {
  size_t begin;
  size_t end;
};

}  // namespace lockstep::text
