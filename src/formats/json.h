// The one JSON reader (RFC 8259, strict): config files, headers, tokenizers and requests.
//
// Refused besides bad syntax: duplicate keys, invalid UTF-8, lone surrogates, numbers past a
// double's range, and whatever is over the limits. Integers keep all 64 bits; other numbers are the
// nearest double. Nothing is repaired.
//
//   LOCKSTEP_ASSIGN_OR_RETURN(JsonValue root, parse_json(text, {.max_bytes = 1 << 20}));
//   LOCKSTEP_ASSIGN_OR_RETURN(JsonFields config, JsonFields::of(root, ""));
//   LOCKSTEP_ASSIGN_OR_RETURN(int64_t layers, config.integer("num_hidden_layers", 1, 1024));
//
// Thread rule: immutable values. Ownership: a JsonValue owns all below it; JsonFields and the
// pointers and spans given out borrow.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"
#include "formats/name_index.h"

namespace lockstep::formats {

class JsonValue;
struct JsonMember;

// Members in file order, with a sorted index for look-up: no hashing that input could attack.
class JsonObject {
 public:
  // invalid_argument naming a key that occurs twice.
  static StatusOr<JsonObject> create(std::vector<JsonMember> members);

  const JsonValue* find(std::string_view key) const;  // null: absent
  std::span<const JsonMember> members() const;

 private:
  auto key_at() const;
  std::vector<JsonMember> members_;
  NameIndex by_key_;
};

using JsonArray = std::vector<JsonValue>;

class JsonValue {
 public:
  JsonValue() = default;  // null
  template <class T>
  explicit JsonValue(T value) : value_(std::move(value)) {}

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }

  // Null where the value is of another kind.
  const bool* if_bool() const { return std::get_if<bool>(&value_); }
  const std::string* if_string() const { return std::get_if<std::string>(&value_); }
  const JsonArray* if_array() const { return std::get_if<JsonArray>(&value_); }
  const JsonObject* if_object() const { return std::get_if<JsonObject>(&value_); }
  // Numbers spelled without fraction and exponent.
  const int64_t* if_int64() const { return std::get_if<int64_t>(&value_); }
  const uint64_t* if_uint64() const { return std::get_if<uint64_t>(&value_); }  // past int64 only
  const double* if_double() const { return std::get_if<double>(&value_); }

  // For errors: "'x'", "1.5", "null", "an array".
  std::string describe() const;

 private:
  std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string, JsonArray, JsonObject>
      value_;
};

struct JsonMember {
  std::string key;
  JsonValue value;
};

// Checked reading of one value; `path` names it in the error: "rope.factor is 'x'; expected ...".
// The result of a number is in [lo, hi].
StatusOr<int64_t> json_integer(const JsonValue& value, std::string_view path, int64_t lo,
                               int64_t hi);
StatusOr<double> json_number(const JsonValue& value, std::string_view path, double lo, double hi);
StatusOr<bool> json_boolean(const JsonValue& value, std::string_view path);
StatusOr<std::string> json_string(const JsonValue& value, std::string_view path);

// One object and its path. A member that is null counts as absent, as in the files of the world;
// the form without a fallback then says that the member is missing.
class JsonFields {
 public:
  // `path` is empty for the root.
  static StatusOr<JsonFields> of(const JsonValue& value, std::string path);

  const JsonValue* find(std::string_view key) const;  // null: absent or null
  bool has(std::string_view key) const { return find(key) != nullptr; }
  bool says_null(std::string_view key) const;  // where null differs from absent
  std::string path_of(std::string_view key) const;

  StatusOr<int64_t> integer(std::string_view key, int64_t lo, int64_t hi) const;
  StatusOr<double> number(std::string_view key, double lo, double hi) const;
  StatusOr<bool> boolean(std::string_view key) const;
  StatusOr<std::string> string(std::string_view key) const;
  StatusOr<JsonFields> object(std::string_view key) const;
  StatusOr<std::span<const JsonValue>> array(std::string_view key) const;

  StatusOr<int64_t> integer_or(std::string_view key, int64_t fallback, int64_t lo,
                               int64_t hi) const;
  StatusOr<double> number_or(std::string_view key, double fallback, double lo, double hi) const;
  StatusOr<bool> boolean_or(std::string_view key, bool fallback) const;
  StatusOr<std::string> string_or(std::string_view key, std::string_view fallback) const;

 private:
  JsonFields(const JsonObject* object, std::string path)
      : object_(object), path_(std::move(path)) {}
  StatusOr<const JsonValue*> required(std::string_view key) const;

  const JsonObject* object_;
  std::string path_;
};

struct JsonLimits {
  uint64_t max_bytes = 1 << 20;
  uint64_t max_values = 1 << 18;  // of every kind, containers and their members
  int max_depth = 32;
};

// invalid_argument saying what is wrong and at which byte.
StatusOr<JsonValue> parse_json(std::string_view text, const JsonLimits& limits);

// As a JSON string with its quotes. REQUIRES valid UTF-8.
std::string json_escaped(std::string_view text);

}  // namespace lockstep::formats
