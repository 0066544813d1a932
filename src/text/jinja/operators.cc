#include "text/jinja/operators.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "text/jinja/callable.h"
#include "text/jinja/text_ops.h"

namespace lockstep::text::jinja {
namespace {

std::string_view symbol(BinaryOperator op) {
  constexpr std::string_view kSymbols[] = {"+", "-", "*", "/", "//", "%", "**", "and", "or"};
  return kSymbols[static_cast<size_t>(op)];
}

Status no_operation(BinaryOperator op, const Value& left, const Value& right) {
  return invalid_argument("'{}' does not work on {} and {}", symbol(op), left.kind(), right.kind());
}

Status overflow() { return invalid_argument("an integer is past 64 bits"); }
Status zero_division() { return invalid_argument("division by zero"); }

StatusOr<Value> integer_power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) return zero_division();
    return Value::real(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) return overflow();
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return overflow();
  }
  return Value::integer(result);
}

// Division that rounds down; INT64_MIN // -1 is out of range.
StatusOr<Value> integer_division(BinaryOperator op, int64_t a, int64_t b) {
  if (b == 0) return zero_division();
  if (op == BinaryOperator::kDivide) {
    return Value::real(static_cast<double>(a) / static_cast<double>(b));
  }
  if (b == -1) {
    if (op == BinaryOperator::kModulo) return Value::integer(0);
    if (a == INT64_MIN) return overflow();
    return Value::integer(-a);
  }
  const bool down = a % b != 0 && (a < 0) != (b < 0);
  if (op == BinaryOperator::kModulo) return Value::integer(a % b + (down ? b : 0));
  return Value::integer(a / b - (down ? 1 : 0));
}

StatusOr<Value> integer_operation(BinaryOperator op, int64_t a, int64_t b) {
  int64_t result = 0;
  bool wrapped = false;
  switch (op) {
    case BinaryOperator::kAdd:
      wrapped = __builtin_add_overflow(a, b, &result);
      break;
    case BinaryOperator::kSubtract:
      wrapped = __builtin_sub_overflow(a, b, &result);
      break;
    case BinaryOperator::kMultiply:
      wrapped = __builtin_mul_overflow(a, b, &result);
      break;
    case BinaryOperator::kPower:
      return integer_power(a, b);
    default:
      return integer_division(op, a, b);
  }
  if (wrapped) return overflow();
  return Value::integer(result);
}

StatusOr<Value> real_power(double base, double exponent) {
  if (base == 0 && exponent < 0) return zero_division();
  const double result = std::pow(base, exponent);
  if (std::isfinite(result) || !std::isfinite(base) || !std::isfinite(exponent)) {
    return Value::real(result);
  }
  return invalid_argument("{} ** {} is {}", base, exponent,
                          std::isnan(result) ? "no real number" : "out of range");
}

StatusOr<Value> real_operation(BinaryOperator op, double a, double b) {
  switch (op) {
    case BinaryOperator::kAdd:
      return Value::real(a + b);
    case BinaryOperator::kSubtract:
      return Value::real(a - b);
    case BinaryOperator::kMultiply:
      return Value::real(a * b);
    case BinaryOperator::kPower:
      return real_power(a, b);
    default:
      break;
  }
  if (b == 0) return zero_division();
  if (op == BinaryOperator::kDivide) return Value::real(a / b);
  // The rest has the divisor's sign, and the quotient is what the rest leaves.
  double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest == 0) {
    rest = std::copysign(0.0, b);
  } else if ((rest < 0) != (b < 0)) {
    rest += b;
    quotient -= 1;
  }
  if (op == BinaryOperator::kModulo) return Value::real(rest);
  const double whole = std::floor(quotient);
  if (quotient == 0) return Value::real(std::copysign(0.0, a / b));
  return Value::real(quotient - whole > 0.5 ? whole + 1 : whole);
}

// Of a sequence made out of another one's items.
SequenceKind kind_of_parts(const Sequence& whole) {
  return whole.is_tuple() ? SequenceKind::kTuple : whole.kind;
}

StatusOr<Value> repeat(Runtime& runtime, const Value& value, int64_t times) {
  times = std::max<int64_t>(times, 0);
  const TracedText* text = value.if_text();
  const auto units = static_cast<int64_t>(text != nullptr ? text->size() + 1
                                                          : value.if_sequence()->items.size() + 1);
  int64_t total = 0;
  if (__builtin_mul_overflow(units, times, &total)) total = INT64_MAX;
  LOCKSTEP_RETURN_IF_ERROR(runtime.charge_bytes(total));
  if (text != nullptr) {
    TracedText out;
    for (int64_t i = 0; i < times; ++i) out.append(*text);
    return runtime.text(std::move(out));
  }
  std::vector<Value> items;
  for (int64_t i = 0; i < times; ++i) {
    const auto& source = value.if_sequence()->items;
    items.insert(items.end(), source.begin(), source.end());
    // Items weigh more than the byte each that was paid for above.
    LOCKSTEP_RETURN_IF_ERROR(runtime.charge_bytes(static_cast<int64_t>(source.size()) * 32));
  }
  return runtime.sequence(std::move(items), kind_of_parts(*value.if_sequence()));
}

bool slices(const Value& value) {
  return value.if_text() != nullptr ||
         (value.if_sequence() != nullptr && value.if_sequence()->kind != SequenceKind::kStream);
}
bool repeats(const Value& value) {
  return slices(value) &&
         (value.if_text() != nullptr || value.if_sequence()->kind != SequenceKind::kRange);
}

StatusOr<Value> add_containers(Runtime& runtime, const Value& left, const Value& right) {
  if (left.if_text() != nullptr && right.if_text() != nullptr) {
    TracedText joined = *left.if_text();
    joined.append(*right.if_text());
    return runtime.text(std::move(joined));
  }
  const Sequence* a = left.if_sequence();
  const Sequence* b = right.if_sequence();
  const bool alike =
      a != nullptr && b != nullptr && (a->kind == b->kind || (a->is_tuple() && b->is_tuple()));
  if (!alike || !repeats(left)) return no_operation(BinaryOperator::kAdd, left, right);
  std::vector<Value> items = a->items;
  items.insert(items.end(), b->items.begin(), b->items.end());
  return runtime.sequence(std::move(items), kind_of_parts(*a));
}

StatusOr<Value> item_at(Runtime& runtime, const Value& object, int64_t index) {
  const auto missing = [] { return Value::undefined("an item past the end of a sequence"); };
  if (const Sequence* sequence = object.if_sequence()) {
    const auto size = static_cast<int64_t>(sequence->items.size());
    if (index < 0) index += size;
    if (index < 0 || index >= size || sequence->kind == SequenceKind::kStream) return missing();
    return sequence->items[index];
  }
  const TracedText& text = *object.if_text();
  LOCKSTEP_RETURN_IF_ERROR(runtime.charge_bytes(static_cast<int64_t>(text.size())));
  const int64_t size = code_points(text.bytes());
  if (index < 0) index += size;
  if (index < 0 || index >= size) return missing();
  return runtime.text(slice(text, {.begin = index, .step = 1, .count = 1}));
}

// What jinja2 shows of a macro; nothing for other names.
StatusOr<std::optional<Value>> macro_attribute(const Macro& macro, std::string_view name) {
  if (name == "catch_kwargs") return std::optional(Value::boolean(macro.takes_more_keywords));
  if (name == "catch_varargs") return std::optional(Value::boolean(macro.takes_more_positional));
  if (name == "caller") return std::optional(Value::boolean(macro.takes_caller));
  if (name == "name") return std::optional(Value::text(macro.name, Origin::kTemplate));
  if (name != "arguments") return std::optional<Value>();
  std::vector<Value> names;
  names.reserve(macro.parameters.size());
  for (const std::string& parameter : macro.parameters) {
    names.push_back(Value::text(parameter, Origin::kTemplate));
  }
  LOCKSTEP_ASSIGN_OR_RETURN(Value tuple, Value::sequence(std::move(names), SequenceKind::kTuple));
  return std::optional(std::move(tuple));
}

// A method or another attribute of the value's type; nothing where it has none of that name.
StatusOr<std::optional<Value>> type_attribute(const Value& object, std::string_view name) {
  if (const Callable* callable = object.if_callable()) {
    if (const auto* closure = std::get_if<Closure>(&callable->target)) {
      return macro_attribute(*closure->macro, name);
    }
    const auto* loop = std::get_if<LoopFunction>(&callable->target);
    if (loop != nullptr && loop->kind == LoopFunction::Kind::kLoop) {
      LOCKSTEP_ASSIGN_OR_RETURN(Value value, loop_attribute(*loop->state, name));
      return std::optional(std::move(value));
    }
  }
  if (const Sequence* group = object.if_sequence();
      group != nullptr && group->kind == SequenceKind::kGroup) {
    if (name == "grouper") return std::optional(group->items[0]);
    if (name == "list") return std::optional(group->items[1]);
  }
  if (const Builtin* method = find_method(object, name)) {
    return std::optional(
        Value::callable(std::make_shared<Callable>(Callable{BoundMethod{object, method}})));
  }
  if (is_forbidden_attribute(object, name)) {
    return std::optional(Value::undefined(
        fmt::format("'{}' of {}, which templates may not use,", name, object.kind())));
  }
  return std::optional<Value>();
}

}  // namespace

Status undefined_error(const Value& value) {
  const auto& what = value.if_undefined()->what;
  return invalid_argument("{} is undefined", what == nullptr ? "a value" : *what);
}

StatusOr<Value> apply_binary(Runtime& runtime, BinaryOperator op, const Value& left,
                             const Value& right) {
  if (left.is_undefined()) return undefined_error(left);
  if (right.is_undefined() && left.if_text() == nullptr) return undefined_error(right);
  if (left.as_integer() && right.as_integer()) {
    return integer_operation(op, *left.as_integer(), *right.as_integer());
  }
  if (left.as_real() && right.as_real()) {
    return real_operation(op, *left.as_real(), *right.as_real());
  }
  if (op == BinaryOperator::kModulo && left.if_text() != nullptr) {
    return format_percent(runtime, *left.if_text(), right);
  }
  if (right.is_undefined()) return undefined_error(right);
  if (op == BinaryOperator::kMultiply) {
    if (repeats(left) && right.as_integer()) return repeat(runtime, left, *right.as_integer());
    if (repeats(right) && left.as_integer()) return repeat(runtime, right, *left.as_integer());
  }
  if (op == BinaryOperator::kAdd) return add_containers(runtime, left, right);
  return no_operation(op, left, right);
}

StatusOr<Value> apply_unary(UnaryOperator op, const Value& operand) {
  if (op == UnaryOperator::kNot) return Value::boolean(!operand.truth());
  if (operand.is_undefined()) return undefined_error(operand);
  if (const auto integer = operand.as_integer()) {
    if (op == UnaryOperator::kPlus) return Value::integer(*integer);
    if (*integer == INT64_MIN) return overflow();
    return Value::integer(-*integer);
  }
  if (const double* real = operand.if_real()) {
    return Value::real(op == UnaryOperator::kPlus ? *real : -*real);
  }
  return invalid_argument("a sign does not work on {}", operand.kind());
}

StatusOr<bool> contains(Runtime& runtime, const Value& container, const Value& item) {
  LOCKSTEP_RETURN_IF_ERROR(runtime.charge_for(item));
  if (container.is_undefined()) return false;
  if (const Dict* dict = container.if_dict()) {
    if (item.depth() == 0) return dict->find(item) != nullptr;
    return invalid_argument("{} cannot be a dict's key", item.kind());
  }
  LOCKSTEP_RETURN_IF_ERROR(runtime.charge_for(container));
  if (const Sequence* sequence = container.if_sequence()) {
    for (const Value& candidate : sequence->items) {
      if (equal(candidate, item)) return true;
    }
    return false;
  }
  if (const TracedText* text = container.if_text()) {
    const TracedText* part = item.if_text();
    if (part == nullptr) {
      return invalid_argument("'in' a string needs a string on its left, not {}", item.kind());
    }
    return part->empty() || count_occurrences(text->bytes(), part->bytes()) > 0;
  }
  return invalid_argument("'in' does not work on {}", container.kind());
}

StatusOr<bool> compare(Runtime& runtime, Comparison op, const Value& left, const Value& right) {
  switch (op) {
    case Comparison::kIn:
      return contains(runtime, right, left);
    case Comparison::kNotIn: {
      LOCKSTEP_ASSIGN_OR_RETURN(const bool inside, contains(runtime, right, left));
      return !inside;
    }
    default:
      break;
  }
  LOCKSTEP_RETURN_IF_ERROR(runtime.charge_bytes(std::min(left.weight(), right.weight())));
  if (op == Comparison::kEqual) return equal(left, right);
  if (op == Comparison::kNotEqual) return !equal(left, right);
  if (left.is_undefined()) return undefined_error(left);
  if (right.is_undefined()) return undefined_error(right);
  const bool swapped = op == Comparison::kGreater || op == Comparison::kLessEqual;
  LOCKSTEP_ASSIGN_OR_RETURN(const bool before, swapped ? less(right, left) : less(left, right));
  if (op == Comparison::kLess || op == Comparison::kGreater) return before;
  // NaN is neither below nor at another number.
  const bool ordered = !(left.as_real() && std::isnan(*left.as_real())) &&
                       !(right.as_real() && std::isnan(*right.as_real()));
  return ordered && !before;
}

StatusOr<Value> get_item(Runtime& runtime, const Value& object, const Value& key) {
  if (object.is_undefined()) return undefined_error(object);
  const TracedText* name = key.if_text();
  if (const Dict* dict = object.if_dict()) {
    LOCKSTEP_RETURN_IF_ERROR(runtime.charge_for(key));
    if (const Value* found = dict->find(key)) return *found;
  } else if (object.if_sequence() != nullptr || object.if_text() != nullptr) {
    if (const auto index = key.as_integer()) return item_at(runtime, object, *index);
  }
  if (name == nullptr) return Value::undefined("an item");
  if (const Namespace* space = object.if_namespace()) {
    const auto found = space->fields.find(name->bytes());
    if (found != space->fields.end()) return found->second;
  }
  LOCKSTEP_ASSIGN_OR_RETURN(auto attribute, type_attribute(object, name->bytes()));
  if (attribute.has_value()) return *std::move(attribute);
  return Value::undefined(fmt::format("item {}", quote_text(name->bytes())));
}

StatusOr<Value> get_attribute(Runtime& runtime, const Value& object, std::string_view name) {
  if (object.is_undefined()) return undefined_error(object);
  LOCKSTEP_ASSIGN_OR_RETURN(auto attribute, type_attribute(object, name));
  if (attribute.has_value()) return *std::move(attribute);
  if (const Namespace* space = object.if_namespace()) {
    const auto found = space->fields.find(name);
    if (found != space->fields.end()) return found->second;
  }
  if (const Dict* dict = object.if_dict()) {
    if (const Value* found = dict->find(name)) return *found;
  }
  LOCKSTEP_RETURN_IF_ERROR(runtime.charge_bytes(static_cast<int64_t>(name.size())));
  return Value::undefined(fmt::format("attribute {} of {}", quote_text(name), object.kind()));
}

StatusOr<Value> get_slice(Runtime& runtime, const Value& object, const Value& start,
                          const Value& stop, const Value& step) {
  if (object.is_undefined()) return undefined_error(object);
  if (!slices(object)) return invalid_argument("{} has no slices", object.kind());
  for (const Value* part : {&start, &stop, &step}) {
    if (!part->is_none() && !part->as_integer()) {
      return invalid_argument("a slice from, to or by {}; expected integers", part->kind());
    }
  }
  const int64_t stride = step.as_integer().value_or(1);
  if (stride == 0) return invalid_argument("a slice's step is 0");
  if (const TracedText* text = object.if_text()) {
    LOCKSTEP_RETURN_IF_ERROR(runtime.charge_bytes(8 * static_cast<int64_t>(text->size())));
    const SliceRange range =
        slice_range(start.as_integer(), stop.as_integer(), stride, code_points(text->bytes()));
    return runtime.text(slice(*text, range));
  }
  const Sequence& sequence = *object.if_sequence();
  const SliceRange range = slice_range(start.as_integer(), stop.as_integer(), stride,
                                       static_cast<int64_t>(sequence.items.size()));
  std::vector<Value> items;
  for (int64_t i = 0, at = range.begin; i < range.count; ++i) {
    items.push_back(sequence.items[at]);
    if (i + 1 < range.count) at += range.step;
  }
  return runtime.sequence(std::move(items), kind_of_parts(sequence));
}

StatusOr<Value> get_path(Runtime& runtime, const Value& object, const Value& path) {
  const TracedText* text = path.if_text();
  if (text == nullptr) return get_item(runtime, object, path);
  std::string_view rest = text->bytes();
  Value at = object;
  while (true) {
    const size_t dot = rest.find('.');
    const std::string_view name = rest.substr(0, dot);
    int64_t index = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), index);
    const bool is_index = !name.empty() && name[0] != '-' && parsed.ec == std::errc() &&
                          parsed.ptr == name.data() + name.size();
    const Value key =
        is_index ? Value::integer(index) : Value::text(std::string(name), Origin::kTemplate);
    LOCKSTEP_ASSIGN_OR_RETURN(at, get_item(runtime, at, key));
    if (dot == rest.npos) return at;
    rest.remove_prefix(dot + 1);
  }
}

}  // namespace lockstep::text::jinja
