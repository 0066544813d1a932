#include "formats/json.h"

#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <cmath>
#include <optional>
#include <system_error>

#include "base/text.h"

namespace lockstep::formats {
namespace {

// Turns the parser's events into values. A fault of our own is kept in `fault`; the error code
// given to the parser then only stops it.
class Builder {
 public:
  using Error = boost::json::error_code;
  using Text = boost::json::string_view;
  // The text's own size is the limit; counts and depth are checked here.
  static constexpr size_t max_array_size = SIZE_MAX;
  static constexpr size_t max_object_size = SIZE_MAX;
  static constexpr size_t max_string_size = SIZE_MAX;
  static constexpr size_t max_key_size = SIZE_MAX;

  explicit Builder(const JsonLimits& limits) : limits_(limits) {}

  std::optional<JsonValue> root;
  Status fault;

  bool on_document_begin(Error&) { return true; }
  bool on_document_end(Error&) { return true; }
  bool on_array_begin(Error& e) { return open(/*is_object=*/false, e); }
  bool on_object_begin(Error& e) { return open(/*is_object=*/true, e); }
  bool on_array_end(size_t, Error& e) {
    JsonArray items = std::move(frames_.back().items);
    frames_.pop_back();
    return place(JsonValue(std::move(items)), e);
  }
  bool on_object_end(size_t, Error& e) {
    auto object = JsonObject::create(std::move(frames_.back().members));
    if (!object.ok()) return refuse(object.status(), e);
    frames_.pop_back();
    return place(JsonValue(*std::move(object)), e);
  }
  bool on_string_part(Text part, size_t, Error&) { return append(part); }
  bool on_string(Text part, size_t, Error& e) {
    append(part);
    return add(JsonValue(std::exchange(text_, {})), e);
  }
  bool on_key_part(Text part, size_t, Error&) { return append(part); }
  bool on_key(Text part, size_t, Error&) {
    append(part);
    frames_.back().members.push_back({std::exchange(text_, {}), JsonValue()});
    return true;
  }
  bool on_number_part(Text part, Error&) { return append(part); }
  bool on_int64(int64_t, Text part, Error& e) { return number(part, e); }
  bool on_uint64(uint64_t, Text part, Error& e) { return number(part, e); }
  bool on_double(double, Text part, Error& e) { return number(part, e); }
  bool on_bool(bool value, Error& e) { return add(JsonValue(value), e); }
  bool on_null(Error& e) { return add(JsonValue(), e); }
  bool on_comment_part(Text, Error&) { return true; }
  bool on_comment(Text, Error&) { return true; }

 private:
  struct Frame {
    bool is_object = false;
    std::vector<JsonValue> items;
    std::vector<JsonMember> members;  // the last one waits for its value
  };

  bool refuse(Status status, Error& e) {
    fault = std::move(status);
    e = boost::json::error::exception;
    return false;
  }

  bool append(Text part) {
    text_.append(part.data(), part.size());
    return true;
  }

  bool count(Error& e) {
    if (++values_ <= limits_.max_values) return true;
    return refuse(invalid_argument("more than {} values", limits_.max_values), e);
  }

  bool open(bool is_object, Error& e) {
    frames_.emplace_back().is_object = is_object;
    return count(e);
  }

  bool add(JsonValue value, Error& e) { return count(e) && place(std::move(value), e); }

  bool place(JsonValue value, Error&) {
    if (frames_.empty()) {
      root = std::move(value);
    } else if (frames_.back().is_object) {
      frames_.back().members.back().value = std::move(value);
    } else {
      frames_.back().items.push_back(std::move(value));
    }
    return true;
  }

  // The parser's own conversion is off by an ulp on some doubles and rounds long integers.
  bool number(Text part, Error& e) {
    append(part);
    const std::string text = std::exchange(text_, {});
    const char* end = text.data() + text.size();
    if (text.find_first_of(".eE") == std::string::npos) {
      int64_t i;
      if (auto r = std::from_chars(text.data(), end, i); r.ec == std::errc() && r.ptr == end) {
        return add(JsonValue(i), e);
      }
      uint64_t u;
      if (auto r = std::from_chars(text.data(), end, u); r.ec == std::errc() && r.ptr == end) {
        return add(JsonValue(u), e);
      }
    }
    double d;
    if (auto r = std::from_chars(text.data(), end, d);
        r.ec != std::errc() || r.ptr != end || !std::isfinite(d)) {
      return refuse(
          invalid_argument("number {} is outside the range of a double", quote_text(text)), e);
    }
    return add(JsonValue(d), e);
  }

  const JsonLimits limits_;
  std::vector<Frame> frames_;
  std::string text_;  // of the string, key or number being read
  uint64_t values_ = 0;
};

Status wrong_kind(const JsonValue& value, std::string_view path, std::string_view expected) {
  return invalid_argument("{} is {}; expected {}", path, value.describe(), expected);
}

std::string root_or(std::string_view path) {
  return path.empty() ? std::string("the document") : std::string(path);
}

}  // namespace

auto JsonObject::key_at() const {
  return [this](size_t i) -> const std::string& { return members_[i].key; };
}

StatusOr<JsonObject> JsonObject::create(std::vector<JsonMember> members) {
  JsonObject out;
  out.members_ = std::move(members);
  LOCKSTEP_ASSIGN_OR_RETURN(out.by_key_,
                            NameIndex::create(out.members_.size(), "key", out.key_at()));
  return out;
}

const JsonValue* JsonObject::find(std::string_view key) const {
  const auto i = by_key_.find(key, key_at());
  return i ? &members_[*i].value : nullptr;
}

std::span<const JsonMember> JsonObject::members() const { return members_; }

std::string JsonValue::describe() const {
  if (is_null()) return "null";
  if (const bool* b = if_bool()) return *b ? "true" : "false";
  if (const int64_t* i = if_int64()) return fmt::format("{}", *i);
  if (const uint64_t* u = if_uint64()) return fmt::format("{}", *u);
  if (const double* d = if_double()) return fmt::format("{}", *d);
  if (const std::string* s = if_string()) return quote_text(*s);
  return if_array() != nullptr ? "an array" : "an object";
}

StatusOr<int64_t> json_integer(const JsonValue& value, std::string_view path, int64_t lo,
                               int64_t hi) {
  if (const int64_t* i = value.if_int64(); i != nullptr && lo <= *i && *i <= hi) return *i;
  return wrong_kind(value, path, fmt::format("an integer in [{}, {}]", lo, hi));
}

StatusOr<double> json_number(const JsonValue& value, std::string_view path, double lo, double hi) {
  std::optional<double> number;
  if (const double* d = value.if_double()) number = *d;
  if (const int64_t* i = value.if_int64()) number = static_cast<double>(*i);
  if (const uint64_t* u = value.if_uint64()) number = static_cast<double>(*u);
  if (number && lo <= *number && *number <= hi) return *number;
  return wrong_kind(value, path, fmt::format("a number in [{}, {}]", lo, hi));
}

StatusOr<bool> json_boolean(const JsonValue& value, std::string_view path) {
  if (const bool* b = value.if_bool()) return *b;
  return wrong_kind(value, path, "true or false");
}

StatusOr<std::string> json_string(const JsonValue& value, std::string_view path) {
  if (const std::string* s = value.if_string()) return *s;
  return wrong_kind(value, path, "a string");
}

StatusOr<JsonFields> JsonFields::of(const JsonValue& value, std::string path) {
  const JsonObject* object = value.if_object();
  if (object == nullptr) return wrong_kind(value, root_or(path), "an object");
  return JsonFields(object, std::move(path));
}

const JsonValue* JsonFields::find(std::string_view key) const {
  const JsonValue* value = object_->find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

bool JsonFields::says_null(std::string_view key) const {
  const JsonValue* value = object_->find(key);
  return value != nullptr && value->is_null();
}

std::string JsonFields::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

StatusOr<const JsonValue*> JsonFields::required(std::string_view key) const {
  const JsonValue* value = find(key);
  if (value == nullptr) return invalid_argument("{} is missing", path_of(key));
  return value;
}

StatusOr<int64_t> JsonFields::integer(std::string_view key, int64_t lo, int64_t hi) const {
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonValue* value, required(key));
  return json_integer(*value, path_of(key), lo, hi);
}

StatusOr<double> JsonFields::number(std::string_view key, double lo, double hi) const {
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonValue* value, required(key));
  return json_number(*value, path_of(key), lo, hi);
}

StatusOr<bool> JsonFields::boolean(std::string_view key) const {
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonValue* value, required(key));
  return json_boolean(*value, path_of(key));
}

StatusOr<std::string> JsonFields::string(std::string_view key) const {
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonValue* value, required(key));
  return json_string(*value, path_of(key));
}

StatusOr<JsonFields> JsonFields::object(std::string_view key) const {
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonValue* value, required(key));
  return of(*value, path_of(key));
}

StatusOr<std::span<const JsonValue>> JsonFields::array(std::string_view key) const {
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonValue* value, required(key));
  const JsonArray* array = value->if_array();
  if (array == nullptr) return wrong_kind(*value, path_of(key), "an array");
  return std::span<const JsonValue>(*array);
}

StatusOr<int64_t> JsonFields::integer_or(std::string_view key, int64_t fallback, int64_t lo,
                                         int64_t hi) const {
  if (!has(key)) return fallback;
  return integer(key, lo, hi);
}

StatusOr<double> JsonFields::number_or(std::string_view key, double fallback, double lo,
                                       double hi) const {
  if (!has(key)) return fallback;
  return number(key, lo, hi);
}

StatusOr<bool> JsonFields::boolean_or(std::string_view key, bool fallback) const {
  if (!has(key)) return fallback;
  return boolean(key);
}

StatusOr<std::string> JsonFields::string_or(std::string_view key, std::string_view fallback) const {
  if (!has(key)) return std::string(fallback);
  return string(key);
}

StatusOr<JsonValue> parse_json(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes) {
    return invalid_argument("JSON of {} bytes; at most {} are allowed", text.size(),
                            limits.max_bytes);
  }
  boost::json::parse_options options;
  options.max_depth = static_cast<size_t>(limits.max_depth);
  boost::json::basic_parser<Builder> parser(options, limits);
  boost::json::error_code error;
  const size_t used = parser.write_some(false, text.data(), text.size(), error);
  Builder& builder = parser.handler();
  if (!builder.fault.ok()) {
    return annotate(builder.fault, fmt::format("JSON at byte {}", used));
  }
  if (error) return invalid_argument("JSON at byte {}: {}", used, error.message());
  if (used != text.size() || !builder.root) {
    return invalid_argument("JSON at byte {}: bytes after the value", used);
  }
  return *std::move(builder.root);
}

std::string json_escaped(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\u{:04x}", static_cast<int>(c));
        } else {
          out += c;
        }
    }
  }
  return out + "\"";
}

}  // namespace lockstep::formats
