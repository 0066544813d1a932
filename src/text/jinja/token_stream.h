// Tokens with one word of look-ahead, and the errors that name them.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "text/jinja/lexer.h"

namespace lockstep::text::jinja {

class TokenStream {
 public:
  // REQUIRES: ends with kEnd.
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& current() const { return tokens_[at_]; }
  const Token& ahead() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  int line() const { return current().line; }
  bool at_type(TokenType type) const { return current().type == type; }
  bool at_name(std::string_view name) const { return is(current(), TokenType::kName, name); }
  bool at_operator(std::string_view op) const { return is(current(), TokenType::kOperator, op); }
  bool ahead_is_name(std::string_view name) const { return is(ahead(), TokenType::kName, name); }
  bool ahead_is_operator(std::string_view op) const {
    return is(ahead(), TokenType::kOperator, op);
  }

  void skip(size_t count = 1) {
    for (; count > 0 && !at_type(TokenType::kEnd); --count) ++at_;
  }
  bool skip_name(std::string_view name) { return at_name(name) && (skip(), true); }
  bool skip_operator(std::string_view op) { return at_operator(op) && (skip(), true); }

  StatusOr<std::string> expect_name() {
    if (!at_type(TokenType::kName)) return unexpected("a name");
    std::string name = current().text;
    skip();
    return name;
  }
  Status expect_operator(std::string_view op) {
    if (skip_operator(op)) return ok_status();
    return unexpected(fmt::format("'{}'", op));
  }
  Status expect(TokenType type, std::string_view what) {
    if (!at_type(type)) return unexpected(what);
    skip();
    return ok_status();
  }

  Status unexpected(std::string_view expected) const {
    return error(fmt::format("unexpected {}; expected {}", describe(current()), expected));
  }
  Status error(std::string_view what) const {
    return invalid_argument("line {}: {}", line(), what);
  }

 private:
  static bool is(const Token& token, TokenType type, std::string_view text) {
    return token.type == type && token.text == text;
  }
  static std::string describe(const Token& token) {
    switch (token.type) {
      case TokenType::kText:
        return "text";
      case TokenType::kBlockBegin:
        return "'{%'";
      case TokenType::kBlockEnd:
        return "'%}'";
      case TokenType::kVariableBegin:
        return "'{{'";
      case TokenType::kVariableEnd:
        return "'}}'";
      case TokenType::kEnd:
        return "end of the template";
      default:
        return quote_text(token.text);
    }
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
};

}  // namespace lockstep::text::jinja
