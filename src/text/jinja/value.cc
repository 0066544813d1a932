#include "text/jinja/value.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace lockstep::text::jinja {
namespace {

constexpr int64_t kScalarWeight = 16;
constexpr int64_t kMaxWeight = int64_t{1} << 60;

// Depth and weight of a container: one level more than its deepest item, and all items' weight.
template <class Container>
Status measure(Container& container, const std::vector<Value>& items) {
  int depth = 0;
  container.weight = kScalarWeight;
  for (const Value& item : items) {
    depth = std::max(depth, item.depth());
    container.weight = std::min(kMaxWeight, container.weight + item.weight());
  }
  container.depth = depth + 1;
  if (depth < Value::kMaxDepth) return ok_status();
  return invalid_argument(
      "a list or dict holds a namespace, a macro, a function or more than {} levels of lists and "
      "dicts",
      Value::kMaxDepth);
}

// Keys that Python calls equal (1, 1.0 and True) have one spelling; empty for values that cannot
// be keys.
std::string spelling_of_key(const Value& key) {
  if (const TracedText* text = key.if_text()) return "s" + text->bytes();
  if (key.is_none()) return "n";
  if (key.is_undefined()) return "u";
  if (const auto integer = key.as_integer()) return fmt::format("i{}", *integer);
  if (const double* real = key.if_real()) {
    constexpr double kInt64End = 9223372036854775808.0;
    const bool integral = std::trunc(*real) == *real && std::fabs(*real) < kInt64End;
    if (integral) return fmt::format("i{}", static_cast<int64_t>(*real));
    return fmt::format("r{}", *real);
  }
  return "";
}

}  // namespace

Value Value::undefined(std::string what) {
  return Value(Undefined{std::make_shared<const std::string>(std::move(what))});
}

Value Value::text(TracedText text) {
  return Value(std::shared_ptr<const TracedText>(std::make_shared<TracedText>(std::move(text))));
}

StatusOr<Value> Value::sequence(std::vector<Value> items, SequenceKind kind) {
  auto sequence = std::make_shared<Sequence>();
  LOCKSTEP_RETURN_IF_ERROR(measure(*sequence, items));
  sequence->items = std::move(items);
  sequence->kind = kind;
  return Value(std::shared_ptr<const Sequence>(std::move(sequence)));
}

StatusOr<Value> Value::dict(std::vector<std::pair<Value, Value>> entries) {
  auto dict = std::make_shared<Dict>();
  std::vector<Value> parts;
  for (auto& [key, value] : entries) {
    std::string spelling = spelling_of_key(key);
    if (spelling.empty()) return invalid_argument("{} cannot be a dict's key", key.kind());
    parts.push_back(key);
    parts.push_back(value);
    const auto [at, added] = dict->index.emplace(std::move(spelling), dict->entries.size());
    if (added) {
      dict->entries.emplace_back(std::move(key), std::move(value));
    } else {
      dict->entries[at->second].second = std::move(value);
    }
  }
  LOCKSTEP_RETURN_IF_ERROR(measure(*dict, parts));
  return Value(std::shared_ptr<const Dict>(std::move(dict)));
}

Status check_storable(const Value& value) {
  if (value.depth() <= Value::kMaxDepth) return ok_status();
  return invalid_argument("{} can only be kept in a variable", value.kind());
}

const Value* Dict::find(const Value& key) const {
  const auto found = index.find(spelling_of_key(key));
  return found == index.end() ? nullptr : &entries[found->second].second;
}

const Value* Dict::find(std::string_view key) const {
  const auto found = index.find(fmt::format("s{}", key));
  return found == index.end() ? nullptr : &entries[found->second].second;
}

std::optional<int64_t> Value::as_integer() const {
  if (const int64_t* integer = if_integer()) return *integer;
  if (const bool* boolean = if_bool()) return *boolean ? 1 : 0;
  return std::nullopt;
}

std::optional<double> Value::as_real() const {
  if (const double* real = if_real()) return *real;
  if (const auto integer = as_integer()) return static_cast<double>(*integer);
  return std::nullopt;
}

bool Value::truth() const {
  if (is_undefined() || is_none()) return false;
  if (const auto number = as_real()) return *number != 0;  // NaN is true, as in Python
  if (const TracedText* text = if_text()) return !text->empty();
  if (const Sequence* sequence = if_sequence()) {
    return sequence->kind == SequenceKind::kStream || !sequence->items.empty();
  }
  if (const Dict* dict = if_dict()) return !dict->entries.empty();
  return true;
}

std::string_view Value::kind() const {
  if (is_undefined()) return "an undefined value";
  if (is_none()) return "none";
  if (if_bool() != nullptr) return "a boolean";
  if (if_integer() != nullptr) return "an integer";
  if (if_real() != nullptr) return "a float";
  if (if_text() != nullptr) return "a string";
  if (if_dict() != nullptr) return "a dict";
  if (if_namespace() != nullptr) return "a namespace";
  if (const Sequence* sequence = if_sequence()) {
    if (sequence->kind == SequenceKind::kRange) return "a range";
    return sequence->is_tuple() ? "a tuple" : "a list";
  }
  return "a function";
}

int Value::depth() const {
  if (const Sequence* sequence = if_sequence()) return sequence->depth;
  if (const Dict* dict = if_dict()) return dict->depth;
  return if_namespace() != nullptr || if_callable() != nullptr ? kMaxDepth + 1 : 0;
}

int64_t Value::weight() const {
  if (const Sequence* sequence = if_sequence()) return sequence->weight;
  if (const Dict* dict = if_dict()) return dict->weight;
  const TracedText* text = if_text();
  return kScalarWeight + (text == nullptr ? 0 : static_cast<int64_t>(text->size()));
}

bool equal(const Value& a, const Value& b) {
  if (a.is_undefined() || b.is_undefined()) return a.is_undefined() && b.is_undefined();
  if (a.is_none() || b.is_none()) return a.is_none() && b.is_none();
  if (a.as_integer() && b.as_integer()) return *a.as_integer() == *b.as_integer();
  if (a.as_real() && b.as_real()) return *a.as_real() == *b.as_real();
  if (a.if_text() && b.if_text()) return a.if_text()->bytes() == b.if_text()->bytes();
  if (a.if_sequence() && b.if_sequence()) {
    const Sequence& x = *a.if_sequence();
    const Sequence& y = *b.if_sequence();
    const bool alike = x.kind == y.kind || (x.is_tuple() && y.is_tuple());
    return alike && std::ranges::equal(x.items, y.items, equal);
  }
  if (a.if_dict() && b.if_dict()) {
    const auto in_b = [&](const auto& entry) {
      const Value* other = b.if_dict()->find(entry.first);
      return other != nullptr && equal(entry.second, *other);
    };
    return a.if_dict()->entries.size() == b.if_dict()->entries.size() &&
           std::ranges::all_of(a.if_dict()->entries, in_b);
  }
  if (a.if_namespace() != nullptr) return a.if_namespace() == b.if_namespace();
  return a.if_callable() != nullptr && a.if_callable() == b.if_callable();
}

StatusOr<bool> less(const Value& a, const Value& b) {
  if (a.as_integer() && b.as_integer()) return *a.as_integer() < *b.as_integer();
  if (a.as_real() && b.as_real()) return *a.as_real() < *b.as_real();
  // UTF-8 keeps the order of code points.
  if (a.if_text() && b.if_text()) return a.if_text()->bytes() < b.if_text()->bytes();
  if (a.if_sequence() && b.if_sequence()) {
    const auto& x = a.if_sequence()->items;
    const auto& y = b.if_sequence()->items;
    for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
      if (!equal(x[i], y[i])) return less(x[i], y[i]);
    }
    return x.size() < y.size();
  }
  return invalid_argument("{} and {} have no order", a.kind(), b.kind());
}

StatusOr<Value> from_json(const formats::JsonValue& json) {
  if (const bool* boolean = json.if_bool()) return Value::boolean(*boolean);
  if (const int64_t* integer = json.if_int64()) return Value::integer(*integer);
  if (const uint64_t* large = json.if_uint64()) return Value::real(static_cast<double>(*large));
  if (const double* real = json.if_double()) return Value::real(*real);
  if (const std::string* text = json.if_string()) return Value::text(*text, Origin::kData);
  if (const formats::JsonArray* array = json.if_array()) {
    std::vector<Value> items;
    for (const formats::JsonValue& item : *array) {
      LOCKSTEP_ASSIGN_OR_RETURN(Value value, from_json(item));
      items.push_back(std::move(value));
    }
    return Value::list(std::move(items));
  }
  if (const formats::JsonObject* object = json.if_object()) {
    std::vector<std::pair<Value, Value>> entries;
    for (const formats::JsonMember& member : object->members()) {
      LOCKSTEP_ASSIGN_OR_RETURN(Value value, from_json(member.value));
      entries.emplace_back(Value::text(member.key, Origin::kData), std::move(value));
    }
    return Value::dict(std::move(entries));
  }
  return Value();
}

}  // namespace lockstep::text::jinja
