// The two halves of the filter table.
#pragma once

#include <span>

#include "text/jinja/builtins.h"

namespace lockstep::text::jinja {

std::span<const Builtin> text_filters();
std::span<const Builtin> sequence_filters();

}  // namespace lockstep::text::jinja
