// Filters, tests, methods and global functions: one kind of function with one way to take its
// arguments.
//
// Thread rule: tables are immutable; a Runtime belongs to one rendering.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "text/jinja/value.h"

namespace lockstep::text::jinja {

class Runtime;

struct Arguments {
  std::vector<Value> positional;
  // Names are traced: `**d` takes them from a dict, and `kwargs` and dict() make values of them.
  std::vector<std::pair<TracedText, Value>> keywords;
};

// `subject` is what a filter or test is applied to, or a method's object; none for globals.
using BuiltinFunction = StatusOr<Value> (*)(Runtime& runtime, const Value& subject,
                                            const Arguments& arguments);
struct Builtin {
  std::string_view name;
  BuiltinFunction function;
};

// Null for names that do not exist.
const Builtin* find_filter(std::string_view name);
const Builtin* find_test(std::string_view name);
const Builtin* find_global(std::string_view name);
// A method that the value's type has and that changes nothing.
const Builtin* find_method(const Value& object, std::string_view name);
// A method of Python's that changes its object, or another attribute that hides a dict's key of
// the same name: not reachable, as in jinja2's sandbox.
bool is_forbidden_attribute(const Value& object, std::string_view name);

// Arguments by parameter, in the parameters' order.
class Parameters {
 public:
  // invalid_argument for unknown, doubled or surplus arguments.
  static StatusOr<Parameters> bind(const Arguments& arguments,
                                   std::initializer_list<std::string_view> names);

  // Null where the argument was not given.
  const Value* at(size_t i) const { return values_[i]; }

  // The argument, checked for its kind; none counts as not given. For a required one that is not
  // given, and for one of another kind, invalid_argument naming the parameter.
  StatusOr<TracedText> text(size_t i) const;
  StatusOr<TracedText> text_or(size_t i, std::string_view fallback) const;
  StatusOr<int64_t> integer(size_t i) const;
  StatusOr<int64_t> integer_or(size_t i, int64_t fallback) const;
  StatusOr<Value> value(size_t i) const;
  Value value_or(size_t i, const Value& fallback) const;
  bool truth_or(size_t i, bool fallback) const;
  bool given(size_t i) const { return values_[i] != nullptr && !values_[i]->is_none(); }

 private:
  std::vector<std::string_view> names_;
  std::vector<const Value*> values_;
};

}  // namespace lockstep::text::jinja
