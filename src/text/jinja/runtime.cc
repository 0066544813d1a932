#include "text/jinja/runtime.h"

#include <algorithm>

#include "base/text.h"
#include "text/jinja/text_ops.h"

namespace lockstep::text::jinja {
namespace {

constexpr int64_t kValueBytes = sizeof(Value) + 16;
constexpr int64_t kTextBytes = sizeof(TracedText) + sizeof(TracedText::Run) + 16;

}  // namespace

Status Runtime::charge_steps(int64_t steps) {
  if (steps <= steps_left_) {
    steps_left_ -= steps;
    return ok_status();
  }
  return resource_exhausted("the template takes more than {} steps", limits_.steps);
}

Status Runtime::charge_bytes(int64_t bytes) {
  if (bytes <= bytes_left_) {
    bytes_left_ -= bytes;
    return ok_status();
  }
  return resource_exhausted("the template works on more than {} bytes", limits_.work_bytes);
}

Status Runtime::Level::status() const {
  if (runtime_.depth_ <= kMaxDepth) return ok_status();
  return resource_exhausted("the template nests more than {} levels", kMaxDepth);
}

StatusOr<Value> Runtime::text(TracedText text) {
  LOCKSTEP_RETURN_IF_ERROR(charge_bytes(kTextBytes + static_cast<int64_t>(text.size())));
  return Value::text(std::move(text));
}

StatusOr<Value> Runtime::texts(std::vector<TracedText> texts) {
  std::vector<Value> items;
  for (TracedText& one : texts) {
    LOCKSTEP_ASSIGN_OR_RETURN(Value value, text(std::move(one)));
    items.push_back(std::move(value));
  }
  return list(std::move(items));
}

StatusOr<Value> Runtime::sequence(std::vector<Value> items, SequenceKind kind) {
  LOCKSTEP_RETURN_IF_ERROR(charge_bytes(kValueBytes * static_cast<int64_t>(items.size() + 1)));
  return Value::sequence(std::move(items), kind);
}

StatusOr<Value> Runtime::dict(std::vector<std::pair<Value, Value>> entries) {
  for (const auto& [key, value] : entries) {
    LOCKSTEP_RETURN_IF_ERROR(charge_bytes(4 * kValueBytes + key.weight()));
  }
  return Value::dict(std::move(entries));
}

StatusOr<TracedText> Runtime::str(const Value& value) {
  LOCKSTEP_RETURN_IF_ERROR(charge_for(value));
  return to_text(value);
}

StatusOr<std::vector<Value>> Runtime::iterate(const Value& value) {
  std::vector<Value> items;
  if (value.is_undefined()) return items;
  if (const Sequence* sequence = value.if_sequence()) {
    items = sequence->items;
  } else if (const Dict* dict = value.if_dict()) {
    for (const auto& [key, item] : dict->entries) items.push_back(key);
  } else if (const TracedText* whole = value.if_text()) {
    LOCKSTEP_RETURN_IF_ERROR(charge_bytes(kTextBytes * static_cast<int64_t>(whole->size())));
    for (TracedText& one : characters(*whole)) items.push_back(Value::text(std::move(one)));
  } else {
    return invalid_argument("{} cannot be gone through", value.kind());
  }
  LOCKSTEP_RETURN_IF_ERROR(charge_bytes(kValueBytes * static_cast<int64_t>(items.size())));
  return items;
}

StatusOr<Parameters> Parameters::bind(const Arguments& arguments,
                                      std::initializer_list<std::string_view> names) {
  Parameters bound;
  bound.names_ = names;
  bound.values_.resize(names.size());
  if (arguments.positional.size() > names.size()) {
    return invalid_argument("{} arguments are given; at most {} are allowed",
                            arguments.positional.size(), names.size());
  }
  for (size_t i = 0; i < arguments.positional.size(); ++i) {
    bound.values_[i] = &arguments.positional[i];
  }
  for (const auto& [keyword, value] : arguments.keywords) {
    const std::string& name = keyword.bytes();
    const auto at = std::ranges::find(bound.names_, name) - bound.names_.begin();
    if (at == static_cast<ptrdiff_t>(names.size())) {
      return invalid_argument("there is no parameter {}", quote_text(name));
    }
    if (bound.values_[at] != nullptr) {
      return invalid_argument("parameter {} is given twice", quote_text(name));
    }
    bound.values_[at] = &value;
  }
  return bound;
}

StatusOr<Value> Parameters::value(size_t i) const {
  if (values_[i] != nullptr) return *values_[i];
  return invalid_argument("parameter '{}' is missing", names_[i]);
}

Value Parameters::value_or(size_t i, const Value& fallback) const {
  return values_[i] != nullptr ? *values_[i] : fallback;
}

bool Parameters::truth_or(size_t i, bool fallback) const {
  return values_[i] != nullptr ? values_[i]->truth() : fallback;
}

StatusOr<TracedText> Parameters::text(size_t i) const {
  LOCKSTEP_ASSIGN_OR_RETURN(const Value given, value(i));
  if (const TracedText* text = given.if_text()) return *text;
  return invalid_argument("parameter '{}' is {}; expected a string", names_[i], given.kind());
}

StatusOr<TracedText> Parameters::text_or(size_t i, std::string_view fallback) const {
  if (given(i)) return text(i);
  return TracedText(std::string(fallback), Origin::kTemplate);
}

StatusOr<int64_t> Parameters::integer(size_t i) const {
  LOCKSTEP_ASSIGN_OR_RETURN(const Value given, value(i));
  if (const auto integer = given.as_integer()) return *integer;
  return invalid_argument("parameter '{}' is {}; expected an integer", names_[i], given.kind());
}

StatusOr<int64_t> Parameters::integer_or(size_t i, int64_t fallback) const {
  if (given(i)) return integer(i);
  return fallback;
}

}  // namespace lockstep::text::jinja
