#include "text/jinja/expression_parser.h"

#include <algorithm>
#include <charconv>

#include "text/jinja/parser.h"

namespace lockstep::text::jinja {
namespace {

// Levels below a node.
struct HeightBelow {
  static int of(const ExpressionPtr& e) { return e == nullptr ? 0 : e->height; }
  static int of(const CallArguments& arguments) {
    int height = std::max(of(arguments.more_positional), of(arguments.more_keywords));
    for (const auto& e : arguments.positional) height = std::max(height, of(e));
    for (const auto& [name, e] : arguments.keywords) height = std::max(height, of(e));
    return height;
  }
  static int of(const std::vector<ExpressionPtr>& list) {
    int height = 0;
    for (const auto& e : list) height = std::max(height, of(e));
    return height;
  }

  int operator()(const Literal&) const { return 0; }
  int operator()(const Name&) const { return 0; }
  int operator()(const SequenceDisplay& n) const { return of(n.items); }
  int operator()(const DictDisplay& n) const {
    int height = 0;
    for (const auto& [key, value] : n.entries) height = std::max({height, of(key), of(value)});
    return height;
  }
  int operator()(const Unary& n) const { return of(n.operand); }
  int operator()(const Binary& n) const { return std::max(of(n.left), of(n.right)); }
  int operator()(const Concatenation& n) const { return of(n.parts); }
  int operator()(const ComparisonChain& n) const {
    int height = of(n.first);
    for (const auto& [op, e] : n.rest) height = std::max(height, of(e));
    return height;
  }
  int operator()(const Attribute& n) const { return of(n.object); }
  int operator()(const Item& n) const { return std::max(of(n.object), of(n.key)); }
  int operator()(const Slice& n) const {
    return std::max({of(n.object), of(n.start), of(n.stop), of(n.step)});
  }
  int operator()(const Call& n) const { return std::max(of(n.callee), of(n.arguments)); }
  int operator()(const FilterCall& n) const { return std::max(of(n.input), of(n.arguments)); }
  int operator()(const TestCall& n) const { return std::max(of(n.input), of(n.arguments)); }
  int operator()(const Conditional& n) const {
    return std::max({of(n.condition), of(n.yes), of(n.no)});
  }
};

}  // namespace

template <class Node>
StatusOr<ExpressionPtr> ExpressionParser::make(Node node, int line) {
  const int height = HeightBelow{}(node) + 1;
  if (height > kMaxNesting) {
    return invalid_argument("line {}: an expression nests more than {} levels", line, kMaxNesting);
  }
  return ExpressionPtr(new Expression{std::move(node), line, height});
}

StatusOr<ExpressionPtr> ExpressionParser::left_associative(
    Rule operand, std::initializer_list<OperatorName> operators) {
  LOCKSTEP_ASSIGN_OR_RETURN(ExpressionPtr left, (this->*operand)());
  while (true) {
    const int line = tokens_.line();
    const auto op = std::ranges::find_if(operators, [&](const OperatorName& candidate) {
      return tokens_.at_operator(candidate.text) || tokens_.at_name(candidate.text);
    });
    if (op == operators.end()) return left;
    tokens_.skip();
    LOCKSTEP_ASSIGN_OR_RETURN(ExpressionPtr right, (this->*operand)());
    LOCKSTEP_ASSIGN_OR_RETURN(left, make(Binary{op->op, std::move(left), std::move(right)}, line));
  }
}

StatusOr<ExpressionPtr> ExpressionParser::expression() {
  if (++depth_ > kMaxNesting) {
    return tokens_.error(fmt::format("an expression nests more than {} levels", kMaxNesting));
  }
  LOCKSTEP_ASSIGN_OR_RETURN(ExpressionPtr node, disjunction());
  while (tokens_.at_name("if")) {
    const int line = tokens_.line();
    tokens_.skip();
    LOCKSTEP_ASSIGN_OR_RETURN(ExpressionPtr condition, disjunction());
    ExpressionPtr no;
    if (tokens_.skip_name("else")) {
      LOCKSTEP_ASSIGN_OR_RETURN(no, expression());
    }
    Conditional choice{std::move(condition), std::move(node), std::move(no)};
    LOCKSTEP_ASSIGN_OR_RETURN(node, make(std::move(choice), line));
  }
  --depth_;
  return node;
}

StatusOr<ExpressionPtr> ExpressionParser::expression_without_condition() { return disjunction(); }

bool ExpressionParser::at_expression_end() const {
  return tokens_.at_type(TokenType::kBlockEnd) || tokens_.at_type(TokenType::kVariableEnd) ||
         tokens_.at_operator(")") || tokens_.at_type(TokenType::kEnd);
}

StatusOr<ExpressionPtr> ExpressionParser::expression_or_tuple(bool with_condition) {
  const int line = tokens_.line();
  std::vector<ExpressionPtr> items;
  bool is_tuple = false;
  do {
    if (at_expression_end()) break;
    LOCKSTEP_ASSIGN_OR_RETURN(ExpressionPtr item,
                              with_condition ? expression() : expression_without_condition());
    items.push_back(std::move(item));
  } while (tokens_.skip_operator(",") && (is_tuple = true));
  if (!is_tuple) {
    if (items.empty()) return tokens_.unexpected("an expression");
    return std::move(items[0]);
  }
  return make(SequenceDisplay{std::move(items), /*is_tuple=*/true}, line);
}

StatusOr<ExpressionPtr> ExpressionParser::disjunction() {
  return left_associative(&ExpressionParser::conjunction, {{"or", BinaryOperator::kOr}});
}

StatusOr<ExpressionPtr> ExpressionParser::conjunction() {
  return left_associative(&ExpressionParser::negation, {{"and", BinaryOperator::kAnd}});
}

StatusOr<ExpressionPtr> ExpressionParser::negation() {
  const int line = tokens_.line();
  int count = 0;
  while (tokens_.skip_name("not")) ++count;
  LOCKSTEP_ASSIGN_OR_RETURN(ExpressionPtr node, comparison());
  for (; count > 0; --count) {
    LOCKSTEP_ASSIGN_OR_RETURN(node, make(Unary{UnaryOperator::kNot, std::move(node)}, line));
  }
  return node;
}

StatusOr<ExpressionPtr> ExpressionParser::comparison() {
  constexpr std::pair<std::string_view, Comparison> kOperators[] = {
      {"==", Comparison::kEqual},  {"!=", Comparison::kNotEqual},
      {"<", Comparison::kLess},    {"<=", Comparison::kLessEqual},
      {">", Comparison::kGreater}, {">=", Comparison::kGreaterEqual},
  };
  const int line = tokens_.line();
  LOCKSTEP_ASSIGN_OR_RETURN(ExpressionPtr first, sum());
  std::vector<std::pair<Comparison, ExpressionPtr>> rest;
  while (true) {
    std::optional<Comparison> op;
    for (const auto& [text, comparison] : kOperators) {
      if (tokens_.at_operator(text)) op = comparison;
    }
    if (tokens_.at_name("in")) op = Comparison::kIn;
    if (tokens_.at_name("not") && tokens_.ahead_is_name("in")) op = Comparison::kNotIn;
    if (!op.has_value()) break;
    tokens_.skip(*op == Comparison::kNotIn ? 2 : 1);
    LOCKSTEP_ASSIGN_OR_RETURN(ExpressionPtr operand, sum());
    rest.emplace_back(*op, std::move(operand));
  }
  if (rest.empty()) return first;
  return make(ComparisonChain{std::move(first), std::move(rest)}, line);
}

StatusOr<ExpressionPtr> ExpressionParser::sum() {
  return left_associative(&ExpressionParser::concatenation,
                          {{"+", BinaryOperator::kAdd}, {"-", BinaryOperator::kSubtract}});
}

StatusOr<ExpressionPtr> ExpressionParser::concatenation() {
  const int line = tokens_.line();
  std::vector<ExpressionPtr> parts;
  do {
    LOCKSTEP_ASSIGN_OR_RETURN(ExpressionPtr part, product());
    parts.push_back(std::move(part));
  } while (tokens_.skip_operator("~"));
  if (parts.size() == 1) return std::move(parts[0]);
  return make(Concatenation{std::move(parts)}, line);
}

StatusOr<ExpressionPtr> ExpressionParser::product() {
  return left_associative(&ExpressionParser::power, {{"*", BinaryOperator::kMultiply},
                                                     {"//", BinaryOperator::kFloorDivide},
                                                     {"/", BinaryOperator::kDivide},
                                                     {"%", BinaryOperator::kModulo}});
}

StatusOr<ExpressionPtr> ExpressionParser::power() {
  return left_associative(&ExpressionParser::unary, {{"**", BinaryOperator::kPower}});
}

StatusOr<ExpressionPtr> ExpressionParser::signed_operand(bool with_filters) {
  const int line = tokens_.line();
  std::vector<UnaryOperator> signs;
  while (tokens_.at_operator("-") || tokens_.at_operator("+")) {
    signs.push_back(tokens_.at_operator("-") ? UnaryOperator::kNegate : UnaryOperator::kPlus);
    tokens_.skip();
  }
  LOCKSTEP_ASSIGN_OR_RETURN(ExpressionPtr node, primary());
  LOCKSTEP_ASSIGN_OR_RETURN(node, postfix(std::move(node)));
  for (; !signs.empty(); signs.pop_back()) {
    LOCKSTEP_ASSIGN_OR_RETURN(node, make(Unary{signs.back(), std::move(node)}, line));
  }
  if (!with_filters) return node;
  return filters_and_tests(std::move(node));
}

StatusOr<ExpressionPtr> ExpressionParser::primary() {
  const int line = tokens_.line();
  switch (tokens_.current().type) {
    case TokenType::kName:
      return named();
    case TokenType::kString:
      return string();
    case TokenType::kInteger:
    case TokenType::kFloat:
      return number();
    default:
      break;
  }
  if (tokens_.at_operator("[")) return list();
  if (tokens_.at_operator("{")) return dict();
  if (tokens_.skip_operator("(")) {
    if (tokens_.skip_operator(")")) return make(SequenceDisplay{{}, /*is_tuple=*/true}, line);
    LOCKSTEP_ASSIGN_OR_RETURN(ExpressionPtr node, expression_or_tuple());
    LOCKSTEP_RETURN_IF_ERROR(tokens_.expect_operator(")"));
    return node;
  }
  return tokens_.unexpected("an expression");
}

StatusOr<ExpressionPtr> ExpressionParser::named() {
  const int line = tokens_.line();
  const std::string name = tokens_.current().text;
  tokens_.skip();
  if (name == "true" || name == "True") return make(Literal{Value::boolean(true)}, line);
  if (name == "false" || name == "False") return make(Literal{Value::boolean(false)}, line);
  if (name == "none" || name == "None") return make(Literal{Value()}, line);
  names_read_.varargs |= name == "varargs";
  names_read_.kwargs |= name == "kwargs";
  names_read_.caller |= name == "caller";
  return make(Name{name}, line);
}

StatusOr<ExpressionPtr> ExpressionParser::string() {
  const int line = tokens_.line();
  std::string text;
  while (tokens_.at_type(TokenType::kString)) {  // neighbours are one string
    text += tokens_.current().text;
    tokens_.skip();
  }
  return make(Literal{Value::text(std::move(text), Origin::kTemplate)}, line);
}

StatusOr<ExpressionPtr> ExpressionParser::number() {
  const int line = tokens_.line();
  const std::string text = tokens_.current().text;
  const char* end = text.data() + text.size();
  Value value;
  std::from_chars_result parsed;
  if (tokens_.at_type(TokenType::kInteger)) {
    int64_t integer = 0;
    parsed = std::from_chars(text.data(), end, integer);
    value = Value::integer(integer);
  } else {
    double real = 0;
    parsed = std::from_chars(text.data(), end, real);
    value = Value::real(real);
  }
  if (parsed.ec != std::errc() || parsed.ptr != end) {
    return tokens_.error(fmt::format("the number {} is out of range", quote_text(text)));
  }
  tokens_.skip();
  return make(Literal{value}, line);
}

StatusOr<ExpressionPtr> ExpressionParser::list() {
  const int line = tokens_.line();
  tokens_.skip();
  std::vector<ExpressionPtr> items;
  while (!tokens_.at_operator("]")) {
    if (!items.empty()) {
      LOCKSTEP_RETURN_IF_ERROR(tokens_.expect_operator(","));
      if (tokens_.at_operator("]")) break;
    }
    LOCKSTEP_ASSIGN_OR_RETURN(ExpressionPtr item, expression());
    items.push_back(std::move(item));
  }
  tokens_.skip();
  return make(SequenceDisplay{std::move(items), /*is_tuple=*/false}, line);
}

StatusOr<ExpressionPtr> ExpressionParser::dict() {
  const int line = tokens_.line();
  tokens_.skip();
  DictDisplay dict;
  while (!tokens_.at_operator("}")) {
    if (!dict.entries.empty()) {
      LOCKSTEP_RETURN_IF_ERROR(tokens_.expect_operator(","));
      if (tokens_.at_operator("}")) break;
    }
    LOCKSTEP_ASSIGN_OR_RETURN(ExpressionPtr key, expression());
    LOCKSTEP_RETURN_IF_ERROR(tokens_.expect_operator(":"));
    LOCKSTEP_ASSIGN_OR_RETURN(ExpressionPtr value, expression());
    dict.entries.emplace_back(std::move(key), std::move(value));
  }
  tokens_.skip();
  return make(std::move(dict), line);
}

StatusOr<ExpressionPtr> ExpressionParser::postfix(ExpressionPtr node) {
  while (true) {
    const int line = tokens_.line();
    if (tokens_.skip_operator(".")) {
      LOCKSTEP_ASSIGN_OR_RETURN(node, member(std::move(node)));
    } else if (tokens_.skip_operator("[")) {
      LOCKSTEP_ASSIGN_OR_RETURN(node, subscript(std::move(node)));
    } else if (tokens_.at_operator("(")) {
      LOCKSTEP_ASSIGN_OR_RETURN(CallArguments arguments, call_arguments());
      LOCKSTEP_ASSIGN_OR_RETURN(node, make(Call{std::move(node), std::move(arguments)}, line));
    } else {
      return node;
    }
  }
}

StatusOr<ExpressionPtr> ExpressionParser::member(ExpressionPtr object) {
  const int line = tokens_.line();
  if (tokens_.at_type(TokenType::kInteger)) {
    LOCKSTEP_ASSIGN_OR_RETURN(ExpressionPtr key, number());
    return make(Item{std::move(object), std::move(key)}, line);
  }
  LOCKSTEP_ASSIGN_OR_RETURN(std::string name, tokens_.expect_name());
  return make(Attribute{std::move(object), std::move(name)}, line);
}

// After "[": key], or start:stop:step] with each part optional.
StatusOr<ExpressionPtr> ExpressionParser::subscript(ExpressionPtr object) {
  const int line = tokens_.line();
  ExpressionPtr parts[3];
  int colons = 0;
  while (!tokens_.at_operator("]")) {
    if (colons < 2 && tokens_.skip_operator(":")) {
      ++colons;
      continue;
    }
    if (parts[colons] != nullptr) return tokens_.unexpected("']'");
    LOCKSTEP_ASSIGN_OR_RETURN(parts[colons], expression());
  }
  tokens_.skip();
  if (colons > 0) {
    return make(
        Slice{std::move(object), std::move(parts[0]), std::move(parts[1]), std::move(parts[2])},
        line);
  }
  if (parts[0] == nullptr) return tokens_.error("a subscript without a key");
  return make(Item{std::move(object), std::move(parts[0])}, line);
}

StatusOr<CallArguments> ExpressionParser::call_arguments() {
  CallArguments arguments;
  LOCKSTEP_RETURN_IF_ERROR(tokens_.expect_operator("("));
  for (bool first = true; !tokens_.at_operator(")"); first = false) {
    if (!first) {
      LOCKSTEP_RETURN_IF_ERROR(tokens_.expect_operator(","));
      if (tokens_.at_operator(")")) break;
    }
    const bool named = tokens_.at_type(TokenType::kName) && tokens_.ahead_is_operator("=");
    if (arguments.more_keywords != nullptr) return tokens_.unexpected("')' after **");
    if (tokens_.skip_operator("**")) {
      LOCKSTEP_ASSIGN_OR_RETURN(arguments.more_keywords, expression());
    } else if (named) {
      std::string name = tokens_.current().text;
      tokens_.skip(2);
      LOCKSTEP_ASSIGN_OR_RETURN(ExpressionPtr value, expression());
      arguments.keywords.emplace_back(std::move(name), std::move(value));
    } else if (arguments.more_positional != nullptr || !arguments.keywords.empty()) {
      return tokens_.error("a positional argument after * or a named one");
    } else if (tokens_.skip_operator("*")) {
      LOCKSTEP_ASSIGN_OR_RETURN(arguments.more_positional, expression());
    } else {
      LOCKSTEP_ASSIGN_OR_RETURN(ExpressionPtr value, expression());
      arguments.positional.push_back(std::move(value));
    }
  }
  tokens_.skip();
  return arguments;
}

StatusOr<ExpressionPtr> ExpressionParser::filters_and_tests(ExpressionPtr node) {
  while (true) {
    const int line = tokens_.line();
    if (tokens_.skip_operator("|")) {
      LOCKSTEP_ASSIGN_OR_RETURN(node, filters(std::move(node)));
    } else if (tokens_.skip_name("is")) {
      LOCKSTEP_ASSIGN_OR_RETURN(node, test(std::move(node)));
      if (tokens_.at_name("is")) return tokens_.error("a test of a test; write parentheses");
    } else if (tokens_.at_operator("(")) {
      LOCKSTEP_ASSIGN_OR_RETURN(CallArguments arguments, call_arguments());
      LOCKSTEP_ASSIGN_OR_RETURN(node, make(Call{std::move(node), std::move(arguments)}, line));
    } else {
      return node;
    }
  }
}

StatusOr<ExpressionPtr> ExpressionParser::filters(ExpressionPtr input) {
  do {
    const int line = tokens_.line();
    LOCKSTEP_ASSIGN_OR_RETURN(const std::string name, tokens_.expect_name());
    const Builtin* filter = find_filter(name);
    if (filter == nullptr) {
      return invalid_argument("line {}: there is no filter {}", line, quote_text(name));
    }
    CallArguments arguments;
    if (tokens_.at_operator("(")) {
      LOCKSTEP_ASSIGN_OR_RETURN(arguments, call_arguments());
    }
    LOCKSTEP_ASSIGN_OR_RETURN(
        input, make(FilterCall{std::move(input), filter, std::move(arguments)}, line));
  } while (tokens_.skip_operator("|"));
  return input;
}

// After "is": not? name, then arguments in parentheses or one bare operand.
StatusOr<ExpressionPtr> ExpressionParser::test(ExpressionPtr input) {
  const int line = tokens_.line();
  const bool negated = tokens_.skip_name("not");
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string name, tokens_.expect_name());
  const Builtin* function = find_test(name);
  if (function == nullptr) {
    return invalid_argument("line {}: there is no test {}", line, quote_text(name));
  }
  CallArguments arguments;
  const TokenType type = tokens_.current().type;
  const bool ends_test = tokens_.at_name("else") || tokens_.at_name("or") ||
                         tokens_.at_name("and") || tokens_.at_name("is") || tokens_.at_name("if") ||
                         tokens_.at_name("in") || tokens_.at_name("not");
  if (tokens_.at_operator("(")) {
    LOCKSTEP_ASSIGN_OR_RETURN(arguments, call_arguments());
  } else if (!ends_test && (type == TokenType::kName || type == TokenType::kString ||
                            type == TokenType::kInteger || type == TokenType::kFloat ||
                            tokens_.at_operator("[") || tokens_.at_operator("{"))) {
    LOCKSTEP_ASSIGN_OR_RETURN(ExpressionPtr operand, primary());
    LOCKSTEP_ASSIGN_OR_RETURN(operand, postfix(std::move(operand)));
    arguments.positional.push_back(std::move(operand));
  }
  LOCKSTEP_ASSIGN_OR_RETURN(ExpressionPtr node,
                            make(TestCall{std::move(input), function, std::move(arguments)}, line));
  if (!negated) return node;
  return make(Unary{UnaryOperator::kNot, std::move(node)}, line);
}

}  // namespace lockstep::text::jinja
