#include "text/jinja/parser.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "text/jinja/expression_parser.h"

namespace lockstep::text::jinja {
namespace {

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)), expressions_(tokens_) {}

  StatusOr<Body> run() { return body({}); }

 private:
  using EndNames = std::initializer_list<std::string_view>;
  using StatementResult = StatusOr<Statement>;

  // Statements up to a block that begins with one of the names, whose "{%" is passed but not its
  // name; up to the end of the template for no names.
  StatusOr<Body> body(EndNames ends) {
    if (++depth_ > kMaxNesting) {
      return tokens_.error(fmt::format("blocks nest more than {} levels", kMaxNesting));
    }
    Body statements;
    while (!tokens_.at_type(TokenType::kEnd)) {
      const int line = tokens_.line();
      if (tokens_.at_type(TokenType::kText)) {
        Value text = Value::text(tokens_.current().text, Origin::kTemplate);
        statements.push_back({Text{std::move(text)}, line});
        tokens_.skip();
      } else if (tokens_.at_type(TokenType::kVariableBegin)) {
        tokens_.skip();
        LOCKSTEP_ASSIGN_OR_RETURN(ExpressionPtr value, expressions_.expression_or_tuple());
        LOCKSTEP_RETURN_IF_ERROR(tokens_.expect(TokenType::kVariableEnd, "'}}'"));
        statements.push_back({Output{std::move(value)}, line});
      } else {
        LOCKSTEP_RETURN_IF_ERROR(tokens_.expect(TokenType::kBlockBegin, "a tag"));
        const auto is_end = [&](std::string_view name) { return tokens_.at_name(name); };
        if (std::ranges::any_of(ends, is_end)) {
          --depth_;
          return statements;
        }
        LOCKSTEP_RETURN_IF_ERROR(block(statements));
      }
    }
    if (ends.size() > 0) {
      return tokens_.error(fmt::format("the template ends without '{}'", *(ends.end() - 1)));
    }
    --depth_;
    return statements;
  }

  // A body and the end block that closes it.
  StatusOr<Body> body_until(std::string_view end) {
    LOCKSTEP_RETURN_IF_ERROR(block_end());
    LOCKSTEP_ASSIGN_OR_RETURN(Body statements, body({end}));
    tokens_.skip();
    LOCKSTEP_RETURN_IF_ERROR(block_end());
    return statements;
  }

  Status block_end() { return tokens_.expect(TokenType::kBlockEnd, "'%}'"); }

  // One block, whose "{%" is passed.
  Status block(Body& statements) {
    struct Rule {
      std::string_view name;
      StatementResult (Parser::*parse)();
    };
    static constexpr std::array kRules = {
        Rule{"if", &Parser::if_block},
        Rule{"for", &Parser::for_block},
        Rule{"set", &Parser::set_block},
        Rule{"macro", &Parser::macro_block},
        Rule{"call", &Parser::call_block},
        Rule{"filter", &Parser::filter_block},
        Rule{"with", &Parser::with_block},
        Rule{"generation", &Parser::generation_block},
        Rule{"break", &Parser::loop_control<Break>},
        Rule{"continue", &Parser::loop_control<Continue>},
    };
    const int line = tokens_.line();
    if (!tokens_.at_type(TokenType::kName)) return tokens_.unexpected("a statement");
    const auto rule = std::ranges::find(kRules, tokens_.current().text, &Rule::name);
    if (rule == kRules.end()) {
      return tokens_.error(fmt::format(
          "statement {} is not supported; supported: if, for, set, macro, call, filter, with, raw, "
          "generation, break, continue",
          quote_text(tokens_.current().text)));
    }
    tokens_.skip();
    LOCKSTEP_ASSIGN_OR_RETURN(Statement statement, (this->*rule->parse)());
    statement.line = line;
    statements.push_back(std::move(statement));
    return ok_status();
  }

  StatementResult if_block() {
    If node;
    while (true) {
      LOCKSTEP_ASSIGN_OR_RETURN(ExpressionPtr condition,
                                expressions_.expression_or_tuple(/*with_condition=*/false));
      LOCKSTEP_RETURN_IF_ERROR(block_end());
      LOCKSTEP_ASSIGN_OR_RETURN(Body statements, body({"elif", "else", "endif"}));
      node.branches.emplace_back(std::move(condition), std::move(statements));
      if (!tokens_.skip_name("elif")) break;
    }
    if (tokens_.skip_name("else")) {
      LOCKSTEP_ASSIGN_OR_RETURN(node.otherwise, body_until("endif"));
    } else {
      tokens_.skip();
      LOCKSTEP_RETURN_IF_ERROR(block_end());
    }
    return Statement{std::move(node)};
  }

  StatementResult for_block() {
    For node;
    LOCKSTEP_ASSIGN_OR_RETURN(node.target, target());
    if (!tokens_.skip_name("in")) return tokens_.unexpected("'in'");
    LOCKSTEP_ASSIGN_OR_RETURN(node.items,
                              expressions_.expression_or_tuple(/*with_condition=*/false));
    if (tokens_.skip_name("if")) {
      LOCKSTEP_ASSIGN_OR_RETURN(node.condition, expressions_.expression());
    }
    node.recursive = tokens_.skip_name("recursive");
    LOCKSTEP_RETURN_IF_ERROR(block_end());
    ++loops_;
    LOCKSTEP_ASSIGN_OR_RETURN(node.body, body({"else", "endfor"}));
    --loops_;
    if (tokens_.skip_name("else")) {
      LOCKSTEP_ASSIGN_OR_RETURN(node.otherwise, body_until("endfor"));
    } else {
      tokens_.skip();
      LOCKSTEP_RETURN_IF_ERROR(block_end());
    }
    return Statement{std::move(node)};
  }

  StatementResult set_block() {
    LOCKSTEP_ASSIGN_OR_RETURN(Target names, target());
    if (tokens_.skip_operator("=")) {
      LOCKSTEP_ASSIGN_OR_RETURN(ExpressionPtr value, expressions_.expression_or_tuple());
      LOCKSTEP_RETURN_IF_ERROR(block_end());
      return Statement{Set{std::move(names), std::move(value)}};
    }
    ExpressionPtr filters;
    if (tokens_.skip_operator("|")) {
      LOCKSTEP_ASSIGN_OR_RETURN(filters, expressions_.filters(nullptr));
    }
    LOCKSTEP_ASSIGN_OR_RETURN(Body statements, scoped_body("endset"));
    return Statement{SetBlock{std::move(names), std::move(filters), std::move(statements)}};
  }

  StatementResult macro_block() {
    auto macro = std::make_shared<Macro>();
    LOCKSTEP_ASSIGN_OR_RETURN(macro->name, tokens_.expect_name());
    LOCKSTEP_RETURN_IF_ERROR(signature(*macro));
    LOCKSTEP_RETURN_IF_ERROR(macro_body(*macro, "endmacro"));
    return Statement{std::shared_ptr<const Macro>(std::move(macro))};
  }

  StatementResult call_block() {
    auto caller = std::make_shared<Macro>();
    caller->name = "caller";
    if (tokens_.at_operator("(")) LOCKSTEP_RETURN_IF_ERROR(signature(*caller));
    LOCKSTEP_ASSIGN_OR_RETURN(ExpressionPtr call, expressions_.expression());
    if (!std::holds_alternative<Call>(call->node)) return tokens_.error("expected a call");
    LOCKSTEP_RETURN_IF_ERROR(macro_body(*caller, "endcall"));
    return Statement{CallBlock{std::move(call), std::move(caller)}};
  }

  StatementResult filter_block() {
    FilterBlock node;
    LOCKSTEP_ASSIGN_OR_RETURN(node.filters, expressions_.filters(nullptr));
    LOCKSTEP_ASSIGN_OR_RETURN(node.body, scoped_body("endfilter"));
    return Statement{std::move(node)};
  }

  StatementResult with_block() {
    With node;
    while (!tokens_.at_type(TokenType::kBlockEnd)) {
      if (!node.variables.empty()) LOCKSTEP_RETURN_IF_ERROR(tokens_.expect_operator(","));
      LOCKSTEP_ASSIGN_OR_RETURN(Target names, target());
      LOCKSTEP_RETURN_IF_ERROR(tokens_.expect_operator("="));
      LOCKSTEP_ASSIGN_OR_RETURN(ExpressionPtr value, expressions_.expression());
      node.variables.emplace_back(std::move(names), std::move(value));
    }
    LOCKSTEP_ASSIGN_OR_RETURN(node.body, body_until("endwith"));
    return Statement{std::move(node)};
  }

  // What a model wrote, marked for training: here a scope of its own and nothing more.
  StatementResult generation_block() {
    With node;
    LOCKSTEP_ASSIGN_OR_RETURN(node.body, scoped_body("endgeneration"));
    return Statement{std::move(node)};
  }

  template <class Control>
  StatementResult loop_control() {
    if (loops_ == 0) return tokens_.error("break and continue belong in a loop");
    LOCKSTEP_RETURN_IF_ERROR(block_end());
    return Statement{Control{}};
  }

  // A body whose output is caught or whose code is a function: no loop outside of it can be left.
  StatusOr<Body> scoped_body(std::string_view end) {
    const int loops = std::exchange(loops_, 0);
    LOCKSTEP_ASSIGN_OR_RETURN(Body statements, body_until(end));
    loops_ = loops;
    return statements;
  }

  Status macro_body(Macro& macro, std::string_view end) {
    auto& read = expressions_.names_read();
    const auto outer = std::exchange(read, {});
    LOCKSTEP_ASSIGN_OR_RETURN(macro.body, scoped_body(end));
    macro.takes_more_positional = read.varargs;
    macro.takes_more_keywords = read.kwargs;
    macro.takes_caller = read.caller;
    // What an inner macro reads counts for the outer one too.
    read.varargs |= outer.varargs;
    read.kwargs |= outer.kwargs;
    read.caller |= outer.caller;
    return ok_status();
  }

  // (a, b=1)
  Status signature(Macro& macro) {
    LOCKSTEP_RETURN_IF_ERROR(tokens_.expect_operator("("));
    while (!tokens_.at_operator(")")) {
      if (!macro.parameters.empty()) LOCKSTEP_RETURN_IF_ERROR(tokens_.expect_operator(","));
      LOCKSTEP_ASSIGN_OR_RETURN(std::string name, tokens_.expect_name());
      macro.parameters.push_back(std::move(name));
      if (tokens_.skip_operator("=")) {
        LOCKSTEP_ASSIGN_OR_RETURN(ExpressionPtr value, expressions_.expression());
        macro.defaults.push_back(std::move(value));
      } else if (!macro.defaults.empty()) {
        return tokens_.error("a parameter without a default after one with");
      }
    }
    tokens_.skip();
    return ok_status();
  }

  // a; a, b; (a, b); space.field
  StatusOr<Target> target() {
    Target names;
    const bool parentheses = tokens_.skip_operator("(");
    do {
      if (names.unpack && parentheses && tokens_.at_operator(")")) break;  // "(a,)"
      Target::Variable variable;
      LOCKSTEP_ASSIGN_OR_RETURN(variable.name, tokens_.expect_name());
      for (const std::string_view constant : {"true", "false", "none", "True", "False", "None"}) {
        if (variable.name == constant) return tokens_.error("a constant cannot be set");
      }
      if (tokens_.skip_operator(".")) {
        LOCKSTEP_ASSIGN_OR_RETURN(variable.field, tokens_.expect_name());
      }
      names.variables.push_back(std::move(variable));
    } while (tokens_.skip_operator(",") && (names.unpack = true));
    if (parentheses) LOCKSTEP_RETURN_IF_ERROR(tokens_.expect_operator(")"));
    return names;
  }

  TokenStream tokens_;
  ExpressionParser expressions_;
  int depth_ = 0;
  int loops_ = 0;  // around the current statement, within its macro or caught body
};

}  // namespace

StatusOr<Body> parse_template(std::string_view source) {
  LOCKSTEP_ASSIGN_OR_RETURN(std::vector<Token> tokens, tokenize(source));
  return Parser(std::move(tokens)).run();
}

}  // namespace lockstep::text::jinja
