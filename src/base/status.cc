#include "base/status.h"

#include <cstdio>
#include <cstdlib>

namespace lockstep::internal {

void check_failed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: internal fault: %s does not hold\n", file, line, condition);
  std::abort();
}

}  // namespace lockstep::internal
