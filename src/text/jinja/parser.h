// Tokens to a template (ast.h): jinja2's grammar without inheritance and includes, with loop
// controls and `generation` blocks.
//
// Thread rule: pure functions.
#pragma once

#include <string_view>

#include "base/status.h"
#include "text/jinja/ast.h"

namespace lockstep::text::jinja {

// Deepest nesting of expressions and blocks; chains of operators count a level each.
inline constexpr int kMaxNesting = 200;

// invalid_argument naming the line. REQUIRES valid UTF-8.
StatusOr<Body> parse_template(std::string_view source);

}  // namespace lockstep::text::jinja
