// Template source to tokens: text outside of tags, and what stands inside of them.
//
// White space is handled here, as jinja2 does with trim_blocks and lstrip_blocks: a newline after a
// block or comment is dropped, spaces from a line's start up to a block or comment are dropped, "-"
// at a tag's edge strips all white space there, "+" keeps it. One newline at the end of the source
// is dropped. Newlines of every kind become "\n".
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace lockstep::text::jinja {

enum class TokenType : uint8_t {
  kText,           // outside of tags
  kBlockBegin,     // {%
  kBlockEnd,       // %}
  kVariableBegin,  // {{
  kVariableEnd,    // }}
  kName,
  kString,
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct Token {
  TokenType type = TokenType::kEnd;
  // Text, name, the string without quotes and escapes, the digits without '_', or the operator.
  std::string text;
  int line = 0;
};

// Ends with one kEnd token. invalid_argument naming the line. REQUIRES valid UTF-8.
StatusOr<std::vector<Token>> tokenize(std::string_view source);

// White space as Python's str.isspace has it.
bool is_python_space(char32_t c);
std::string_view strip_left(std::string_view text);
std::string_view strip_right(std::string_view text);

}  // namespace lockstep::text::jinja
