// The parsed template. Filters and tests are bound to their functions here, so a template that
// names an unknown one is refused when it is loaded.
//
// Thread rule: immutable after parsing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "text/jinja/builtins.h"
#include "text/jinja/value.h"

namespace lockstep::text::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<const Expression>;

struct CallArguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> keywords;
  ExpressionPtr more_positional;  // *list; may be null
  ExpressionPtr more_keywords;    // **dict; may be null
};

enum class UnaryOperator : uint8_t { kNegate, kPlus, kNot };
enum class BinaryOperator : uint8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower,
  kAnd,
  kOr,
};
enum class Comparison : uint8_t {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn,
};

struct Literal {
  Value value;
};
struct Name {
  std::string name;
};
struct SequenceDisplay {
  std::vector<ExpressionPtr> items;
  bool is_tuple;
};
struct DictDisplay {
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> entries;
};
struct Unary {
  UnaryOperator op;
  ExpressionPtr operand;
};
struct Binary {
  BinaryOperator op;
  ExpressionPtr left;
  ExpressionPtr right;
};
struct Concatenation {
  std::vector<ExpressionPtr> parts;
};
struct ComparisonChain {
  ExpressionPtr first;
  std::vector<std::pair<Comparison, ExpressionPtr>> rest;
};
struct Attribute {
  ExpressionPtr object;
  std::string name;
};
struct Item {
  ExpressionPtr object;
  ExpressionPtr key;
};
struct Slice {
  ExpressionPtr object;
  ExpressionPtr start;  // each may be null
  ExpressionPtr stop;
  ExpressionPtr step;
};
struct Call {
  ExpressionPtr callee;
  CallArguments arguments;
};
struct FilterCall {
  ExpressionPtr input;  // null: the text of a filter block
  const Builtin* filter;
  CallArguments arguments;
};
struct TestCall {
  ExpressionPtr input;
  const Builtin* test;
  CallArguments arguments;
};
struct Conditional {
  ExpressionPtr condition;
  ExpressionPtr yes;
  ExpressionPtr no;  // null: undefined
};

struct Expression {
  std::variant<Literal, Name, SequenceDisplay, DictDisplay, Unary, Binary, Concatenation,
               ComparisonChain, Attribute, Item, Slice, Call, FilterCall, TestCall, Conditional>
      node;
  int line = 0;
  int height = 1;  // levels of expressions from here down: bounds recursion
};

struct Statement;
using Body = std::vector<Statement>;

// A name, a namespace's field, or several names that take a sequence apart.
struct Target {
  struct Variable {
    std::string name;
    std::string field;  // not empty: of the namespace `name`
  };
  std::vector<Variable> variables;
  bool unpack = false;
};

struct Text {
  Value text;
};
struct Output {
  ExpressionPtr value;
};
struct If {
  std::vector<std::pair<ExpressionPtr, Body>> branches;
  Body otherwise;
};
struct For {
  Target target;
  ExpressionPtr items;
  ExpressionPtr condition;  // may be null
  Body body;
  Body otherwise;  // for no items
  bool recursive = false;
};
struct Set {
  Target target;
  ExpressionPtr value;
};
struct SetBlock {
  Target target;
  ExpressionPtr filters;  // FilterCalls whose innermost input is the block's text; null: none
  Body body;
};
struct Macro {
  std::string name;
  std::vector<std::string> parameters;
  std::vector<ExpressionPtr> defaults;  // of the last parameters
  Body body;
  bool takes_more_positional = false;  // the body names varargs, kwargs, caller
  bool takes_more_keywords = false;
  bool takes_caller = false;
};
struct CallBlock {
  std::unique_ptr<const Expression> call;
  std::shared_ptr<const Macro> caller;
};
struct FilterBlock {
  ExpressionPtr filters;
  Body body;
};
struct With {
  std::vector<std::pair<Target, ExpressionPtr>> variables;
  Body body;
};
struct Break {};
struct Continue {};

struct Statement {
  std::variant<Text, Output, If, For, Set, SetBlock, std::shared_ptr<const Macro>, CallBlock,
               FilterBlock, With, Break, Continue>
      node;
  int line = 0;
};

}  // namespace lockstep::text::jinja
