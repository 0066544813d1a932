// `is` tests.
#include <algorithm>
#include <array>

#include "text/jinja/builtins.h"
#include "text/jinja/operators.h"
#include "text/jinja/runtime.h"

namespace lockstep::text::jinja {
namespace {

using Result = StatusOr<Value>;

template <bool (*kIs)(const Value&)>
Result is(Runtime&, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_RETURN_IF_ERROR(Parameters::bind(arguments, {}).status());
  return Value::boolean(kIs(subject));
}

bool is_defined(const Value& v) { return !v.is_undefined(); }
bool is_undefined(const Value& v) { return v.is_undefined(); }
bool is_none(const Value& v) { return v.is_none(); }
bool is_boolean(const Value& v) { return v.if_bool() != nullptr; }
bool is_true(const Value& v) { return v.if_bool() != nullptr && *v.if_bool(); }
bool is_false(const Value& v) { return v.if_bool() != nullptr && !*v.if_bool(); }
bool is_integer(const Value& v) { return v.if_integer() != nullptr; }
bool is_float(const Value& v) { return v.if_real() != nullptr; }
bool is_number(const Value& v) { return v.as_real().has_value(); }
bool is_string(const Value& v) { return v.if_text() != nullptr; }
bool is_mapping(const Value& v) { return v.if_dict() != nullptr; }
bool is_callable(const Value& v) { return v.if_callable() != nullptr; }
bool is_iterable(const Value& v) {
  return v.if_sequence() != nullptr || v.if_dict() != nullptr || v.if_text() != nullptr ||
         v.is_undefined();
}
bool is_sequence(const Value& v) {
  const Sequence* sequence = v.if_sequence();
  return is_iterable(v) && (sequence == nullptr || sequence->kind != SequenceKind::kStream);
}
bool is_escaped(const Value&) { return false; }

// subject % 2 == 1 or == 0, so neither for most floats.
template <bool kOdd>
Result is_parity(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_RETURN_IF_ERROR(Parameters::bind(arguments, {}).status());
  LOCKSTEP_ASSIGN_OR_RETURN(
      const Value rest, apply_binary(runtime, BinaryOperator::kModulo, subject, Value::integer(2)));
  return Value::boolean(equal(rest, Value::integer(kOdd ? 1 : 0)));
}

Result is_divisible(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p, Parameters::bind(arguments, {"num"}));
  LOCKSTEP_ASSIGN_OR_RETURN(const Value divisor, p.value(0));
  LOCKSTEP_ASSIGN_OR_RETURN(const Value rest,
                            apply_binary(runtime, BinaryOperator::kModulo, subject, divisor));
  return Value::boolean(!rest.truth());
}

template <Comparison kOp>
Result compares(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p, Parameters::bind(arguments, {"other"}));
  LOCKSTEP_ASSIGN_OR_RETURN(const Value other, p.value(0));
  LOCKSTEP_ASSIGN_OR_RETURN(const bool result, compare(runtime, kOp, subject, other));
  return Value::boolean(result);
}

// Of the same kind and equal: values never change, so identity shows nowhere else.
Result is_same(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p, Parameters::bind(arguments, {"other"}));
  LOCKSTEP_ASSIGN_OR_RETURN(const Value other, p.value(0));
  LOCKSTEP_ASSIGN_OR_RETURN(const bool same, compare(runtime, Comparison::kEqual, subject, other));
  return Value::boolean(same && subject.kind() == other.kind());
}

template <const char* kMethod>
Result has_case(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(TracedText text, runtime.str(subject));
  const Value as_text = Value::text(std::move(text));
  return find_method(as_text, kMethod)->function(runtime, as_text, arguments);
}
constexpr char kIsLower[] = "islower";
constexpr char kIsUpper[] = "isupper";

template <const Builtin* (*kFind)(std::string_view)>
Result is_known(Runtime&, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_RETURN_IF_ERROR(Parameters::bind(arguments, {}).status());
  const TracedText* name = subject.if_text();
  return Value::boolean(name != nullptr && kFind(name->bytes()) != nullptr);
}

constexpr auto kTests = std::to_array<Builtin>({
    {"!=", compares<Comparison::kNotEqual>},
    {"<", compares<Comparison::kLess>},
    {"<=", compares<Comparison::kLessEqual>},
    {"==", compares<Comparison::kEqual>},
    {">", compares<Comparison::kGreater>},
    {">=", compares<Comparison::kGreaterEqual>},
    {"boolean", is<is_boolean>},
    {"callable", is<is_callable>},
    {"defined", is<is_defined>},
    {"divisibleby", is_divisible},
    {"eq", compares<Comparison::kEqual>},
    {"equalto", compares<Comparison::kEqual>},
    {"escaped", is<is_escaped>},
    {"even", is_parity<false>},
    {"false", is<is_false>},
    {"filter", is_known<find_filter>},
    {"float", is<is_float>},
    {"ge", compares<Comparison::kGreaterEqual>},
    {"greaterthan", compares<Comparison::kGreater>},
    {"gt", compares<Comparison::kGreater>},
    {"in", compares<Comparison::kIn>},
    {"integer", is<is_integer>},
    {"iterable", is<is_iterable>},
    {"le", compares<Comparison::kLessEqual>},
    {"lessthan", compares<Comparison::kLess>},
    {"lower", has_case<kIsLower>},
    {"lt", compares<Comparison::kLess>},
    {"mapping", is<is_mapping>},
    {"ne", compares<Comparison::kNotEqual>},
    {"none", is<is_none>},
    {"number", is<is_number>},
    {"odd", is_parity<true>},
    {"sameas", is_same},
    {"sequence", is<is_sequence>},
    {"string", is<is_string>},
    {"test", is_known<find_test>},
    {"true", is<is_true>},
    {"undefined", is<is_undefined>},
    {"upper", has_case<kIsUpper>},
});

}  // namespace

const Builtin* find_test(std::string_view name) {
  const auto found = std::ranges::find(kTests, name, &Builtin::name);
  return found == kTests.end() ? nullptr : &*found;
}

}  // namespace lockstep::text::jinja
