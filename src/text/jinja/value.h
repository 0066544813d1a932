// A template's values: Python's, as far as templates can see them. Everything is immutable but a
// namespace, and nothing refers to anything outside the template and its inputs.
//
// Thread rule: a Value without namespaces and callables may be shared between threads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"
#include "formats/json.h"
#include "text/jinja/traced_text.h"

namespace lockstep::text::jinja {

enum class SequenceKind : uint8_t {
  kList,
  kTuple,
  kGroup,   // a tuple of groupby's: (grouper, list), which are attributes too
  kRange,   // what range() gives: a list that does not grow
  kStream,  // what map, select and their like give: true even when empty, no length, no items
};

class Value;
struct Sequence;
struct Dict;
struct Namespace;
struct Callable;

// The result of a name, attribute or item that does not exist.
struct Undefined {
  std::shared_ptr<const std::string> what;  // for errors; may be null
};
struct None {};

class Value {
 public:
  // Deepest nesting of lists and dicts: recursion over a value is bounded by it.
  static constexpr int kMaxDepth = 64;

  Value() : data_(None{}) {}  // none
  static Value undefined(std::string what);
  static Value boolean(bool value) { return Value(value); }
  static Value integer(int64_t value) { return Value(value); }
  static Value real(double value) { return Value(value); }
  // REQUIRES valid UTF-8 for exact results; other bytes count as one character each.
  static Value text(TracedText text);
  static Value text(std::string bytes, Origin origin) {
    return text(TracedText(std::move(bytes), origin));
  }
  // invalid_argument where an item nests too deep or is a namespace or a callable, which stay in
  // variables: so no value holds itself, and none outlives what it borrows.
  static StatusOr<Value> sequence(std::vector<Value> items, SequenceKind kind);
  static StatusOr<Value> list(std::vector<Value> items) {
    return sequence(std::move(items), SequenceKind::kList);
  }
  // A later entry with an equal key replaces an earlier one's value, as in Python. Keys are
  // strings, numbers, booleans, none or undefined.
  static StatusOr<Value> dict(std::vector<std::pair<Value, Value>> entries);
  static Value namespace_of(std::shared_ptr<Namespace> space) { return Value(std::move(space)); }
  static Value callable(std::shared_ptr<const Callable> callable) {
    return Value(std::move(callable));
  }

  bool is_undefined() const { return std::holds_alternative<Undefined>(data_); }
  bool is_none() const { return std::holds_alternative<None>(data_); }
  // Null where the value is of another kind.
  const Undefined* if_undefined() const { return std::get_if<Undefined>(&data_); }
  const bool* if_bool() const { return std::get_if<bool>(&data_); }
  const int64_t* if_integer() const { return std::get_if<int64_t>(&data_); }
  const double* if_real() const { return std::get_if<double>(&data_); }
  const TracedText* if_text() const { return pointer<const TracedText>(); }
  const Sequence* if_sequence() const { return pointer<const Sequence>(); }
  const Dict* if_dict() const { return pointer<const Dict>(); }
  Namespace* if_namespace() const { return pointer<Namespace>(); }
  const Callable* if_callable() const { return pointer<const Callable>(); }

  // Python's int or bool, as an integer.
  std::optional<int64_t> as_integer() const;
  // Any number, as a real.
  std::optional<double> as_real() const;

  bool truth() const;
  // "a string", "a list": for errors.
  std::string_view kind() const;
  // Containers in containers, 0 for a scalar; past kMaxDepth for what may not be contained.
  int depth() const;
  // About the bytes that the value takes when all of it is written out, so about the work of going
  // through it. Shared parts count each time: [x, x] of [x, x] of ... is heavy, though small.
  int64_t weight() const;

 private:
  template <class T>
  explicit Value(T value) : data_(std::move(value)) {}
  template <class T>
  T* pointer() const {
    const auto* held = std::get_if<std::shared_ptr<T>>(&data_);
    return held == nullptr ? nullptr : held->get();
  }

  std::variant<Undefined, None, bool, int64_t, double, std::shared_ptr<const TracedText>,
               std::shared_ptr<const Sequence>, std::shared_ptr<const Dict>,
               std::shared_ptr<Namespace>, std::shared_ptr<const Callable>>
      data_;
};

struct Sequence {
  bool is_tuple() const { return kind == SequenceKind::kTuple || kind == SequenceKind::kGroup; }

  std::vector<Value> items;
  SequenceKind kind = SequenceKind::kList;
  int depth = 1;
  int64_t weight = 0;
};

struct Dict {
  std::vector<std::pair<Value, Value>> entries;      // in order of first insertion
  std::map<std::string, size_t, std::less<>> index;  // by the key's spelling (value.cc)
  int depth = 1;
  int64_t weight = 0;

  const Value* find(const Value& key) const;  // null: absent, or not a key at all
  const Value* find(std::string_view key) const;
};

// For what is kept beyond a variable: invalid_argument for namespaces and callables.
Status check_storable(const Value& value);

struct Namespace {
  std::map<std::string, Value, std::less<>> fields;
};

// Python's ==.
bool equal(const Value& a, const Value& b);
// Python's <; invalid_argument where Python has no order between the two.
StatusOr<bool> less(const Value& a, const Value& b);

// str(value) and repr(value) as Python spells them.
TracedText to_text(const Value& value);
TracedText to_repr(const Value& value);

struct JsonStyle {
  std::optional<int> indent;  // none: one line
  TracedText item_separator = TracedText(", ", Origin::kTemplate);
  TracedText key_separator = TracedText(": ", Origin::kTemplate);
  bool ascii_only = false;
  bool sort_keys = false;
};
// json.dumps(value, ensure_ascii=False): what `tojson` gives in chat templates.
StatusOr<TracedText> to_json(const Value& value, const JsonStyle& style = {});

// JSON from a request: every string in it is data. Integers past int64 become reals.
StatusOr<Value> from_json(const formats::JsonValue& json);

}  // namespace lockstep::text::jinja
