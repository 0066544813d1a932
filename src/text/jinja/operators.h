// Python's operators on values.
//
// Thread rule: pure but for the runtime's budgets.
#pragma once

#include <optional>
#include <string_view>

#include "base/status.h"
#include "text/jinja/ast.h"
#include "text/jinja/runtime.h"
#include "text/jinja/value.h"

namespace lockstep::text::jinja {

// REQUIRES: neither `and` nor `or`. invalid_argument where Python has no such operation, for
// division by zero and for integers past 64 bits.
StatusOr<Value> apply_binary(Runtime& runtime, BinaryOperator op, const Value& left,
                             const Value& right);
StatusOr<Value> apply_unary(UnaryOperator op, const Value& operand);
StatusOr<bool> compare(Runtime& runtime, Comparison op, const Value& left, const Value& right);
StatusOr<bool> contains(Runtime& runtime, const Value& container, const Value& item);

// object[key], a dict's keys first; undefined where there is no such item.
StatusOr<Value> get_item(Runtime& runtime, const Value& object, const Value& key);
// object.name, methods first; undefined where there is no such attribute. invalid_argument for an
// object that is undefined itself.
StatusOr<Value> get_attribute(Runtime& runtime, const Value& object, std::string_view name);
// object[start:stop:step]; none stands for a part that is not given.
StatusOr<Value> get_slice(Runtime& runtime, const Value& object, const Value& start,
                          const Value& stop, const Value& step);

// "name" or "name.inner.0", as filters take it.
StatusOr<Value> get_path(Runtime& runtime, const Value& object, const Value& path);

// text % values: %s %r %d %i %f %x %c and %%, with flags, width and precision.
StatusOr<Value> format_percent(Runtime& runtime, const TracedText& format, const Value& values);

// The error for using a value that does not exist.
Status undefined_error(const Value& value);

}  // namespace lockstep::text::jinja
