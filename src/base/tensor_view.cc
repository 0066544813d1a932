#include "base/tensor_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lockstep {

std::string shape_string(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

}  // namespace lockstep
