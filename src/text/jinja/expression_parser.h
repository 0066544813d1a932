// Expressions, by jinja2's precedence: if-else, or, and, not, comparisons, + -, ~, * / // %, **,
// unary, then calls, members, filters and tests.
#pragma once

#include <initializer_list>
#include <string_view>

#include "base/status.h"
#include "text/jinja/ast.h"
#include "text/jinja/token_stream.h"

namespace lockstep::text::jinja {

class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream& tokens) : tokens_(tokens) {}

  StatusOr<ExpressionPtr> expression();
  // Without a conditional at the top: what stands between "in" and "if" of a loop.
  StatusOr<ExpressionPtr> expression_without_condition();
  // Several expressions with commas between are a tuple. `stop` is the name that may end one.
  StatusOr<ExpressionPtr> expression_or_tuple(bool with_condition = true);
  // name|filter|filter of a filter or set block, starting at the first filter's name. `input` is
  // null for the block's text.
  StatusOr<ExpressionPtr> filters(ExpressionPtr input);
  StatusOr<CallArguments> call_arguments();

  // Names read so far, for macros that take varargs, kwargs or a caller.
  struct NamesRead {
    bool varargs = false;
    bool kwargs = false;
    bool caller = false;
  };
  NamesRead& names_read() { return names_read_; }

 private:
  using Rule = StatusOr<ExpressionPtr> (ExpressionParser::*)();

  struct OperatorName {
    std::string_view text;
    BinaryOperator op;
  };

  template <class Node>
  StatusOr<ExpressionPtr> make(Node node, int line);
  StatusOr<ExpressionPtr> left_associative(Rule operand,
                                           std::initializer_list<OperatorName> operators);

  StatusOr<ExpressionPtr> disjunction();
  StatusOr<ExpressionPtr> conjunction();
  StatusOr<ExpressionPtr> negation();
  StatusOr<ExpressionPtr> comparison();
  StatusOr<ExpressionPtr> sum();
  StatusOr<ExpressionPtr> concatenation();
  StatusOr<ExpressionPtr> product();
  StatusOr<ExpressionPtr> power();
  StatusOr<ExpressionPtr> unary() { return signed_operand(/*with_filters=*/true); }
  StatusOr<ExpressionPtr> signed_operand(bool with_filters);
  StatusOr<ExpressionPtr> primary();
  StatusOr<ExpressionPtr> named();
  StatusOr<ExpressionPtr> number();
  StatusOr<ExpressionPtr> string();
  StatusOr<ExpressionPtr> list();
  StatusOr<ExpressionPtr> dict();
  StatusOr<ExpressionPtr> postfix(ExpressionPtr node);
  StatusOr<ExpressionPtr> member(ExpressionPtr object);
  StatusOr<ExpressionPtr> subscript(ExpressionPtr object);
  StatusOr<ExpressionPtr> filters_and_tests(ExpressionPtr node);
  StatusOr<ExpressionPtr> test(ExpressionPtr input);
  bool at_expression_end() const;

  TokenStream& tokens_;
  NamesRead names_read_;
  int depth_ = 0;
};

}  // namespace lockstep::text::jinja
