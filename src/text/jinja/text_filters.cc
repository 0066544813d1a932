// Filters that give a string or a number.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "text/jinja/filters.h"
#include "text/jinja/lexer.h"
#include "text/jinja/operators.h"
#include "text/jinja/runtime.h"
#include "text/jinja/text_ops.h"
#include "text/utf8.h"

namespace lockstep::text::jinja {
namespace {

using Result = StatusOr<Value>;

template <TracedText (*kMap)(const TracedText&)>
Result map_text(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_RETURN_IF_ERROR(Parameters::bind(arguments, {}).status());
  LOCKSTEP_ASSIGN_OR_RETURN(const TracedText text, runtime.str(subject));
  return runtime.text(kMap(text));
}

// Pieces between white space, '-', '(', '{', '[' and '<' begin with a capital.
TracedText title_pieces(const TracedText& text) {
  TracedText out;
  const std::string_view bytes = text.bytes();
  size_t piece = 0;
  const auto flush = [&](size_t end) {
    if (piece == end) return;
    const size_t first = first_code_point(bytes.substr(piece)).bytes;
    out.append(upper(text.substr(piece, first)));
    out.append(lower(text.substr(piece + first, end - piece - first)));
  };
  for (size_t at = 0; at < bytes.size();) {
    const CodePoint c = first_code_point(bytes.substr(at));
    const bool border = is_python_space(c.value) || c.value == '-' || c.value == '(' ||
                        c.value == '{' || c.value == '[' || c.value == '<';
    if (border) {
      flush(at);
      out.append(text, at, c.bytes);
      piece = at + c.bytes;
    }
    at += c.bytes;
  }
  flush(bytes.size());
  return out;
}

TracedText escape_html(const TracedText& text) {
  TracedText out;
  for (const TracedText& character : characters(text)) {
    const std::string& c = character.bytes();
    const std::string_view entity = c == "&"    ? "&amp;"
                                    : c == "<"  ? "&lt;"
                                    : c == ">"  ? "&gt;"
                                    : c == "\"" ? "&#34;"
                                    : c == "'"  ? "&#39;"
                                                : std::string_view(c);
    out.append(entity, character.origin_at(0));
  }
  return out;
}

Result escape(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_RETURN_IF_ERROR(Parameters::bind(arguments, {}).status());
  LOCKSTEP_ASSIGN_OR_RETURN(const TracedText text, runtime.str(subject));
  LOCKSTEP_RETURN_IF_ERROR(runtime.charge_bytes(160 * static_cast<int64_t>(text.size())));
  return runtime.text(escape_html(text));
}

Result to_string(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_RETURN_IF_ERROR(Parameters::bind(arguments, {}).status());
  LOCKSTEP_ASSIGN_OR_RETURN(TracedText text, runtime.str(subject));
  return runtime.text(std::move(text));
}

// Calls a string method on str(subject).
template <const char* kName>
Result as_method(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(TracedText text, runtime.str(subject));
  LOCKSTEP_ASSIGN_OR_RETURN(const Value as_text, runtime.text(std::move(text)));
  return find_method(as_text, kName)->function(runtime, as_text, arguments);
}
constexpr char kStrip[] = "strip";

Result center(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p, Parameters::bind(arguments, {"width"}));
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t width, p.integer_or(0, 80));
  LOCKSTEP_ASSIGN_OR_RETURN(TracedText text, runtime.str(subject));
  const Value as_text = Value::text(std::move(text));
  return find_method(as_text, "center")->function(runtime, as_text, {{Value::integer(width)}, {}});
}

Result replace_filter(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p,
                            Parameters::bind(arguments, {"old", "new", "count"}));
  LOCKSTEP_ASSIGN_OR_RETURN(const Value what, p.value(0));
  LOCKSTEP_ASSIGN_OR_RETURN(const Value with, p.value(1));
  LOCKSTEP_ASSIGN_OR_RETURN(TracedText text, runtime.str(subject));
  LOCKSTEP_ASSIGN_OR_RETURN(TracedText what_text, runtime.str(what));
  LOCKSTEP_ASSIGN_OR_RETURN(TracedText with_text, runtime.str(with));
  const Value as_text = Value::text(std::move(text));
  Arguments checked{{Value::text(std::move(what_text)), Value::text(std::move(with_text))}, {}};
  if (p.given(2)) checked.positional.push_back(*p.at(2));
  return find_method(as_text, "replace")->function(runtime, as_text, checked);
}

Result indent(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p,
                            Parameters::bind(arguments, {"width", "first", "blank"}));
  const TracedText* text = subject.if_text();
  if (text == nullptr) {
    return invalid_argument("indent of {}; expected a string", subject.kind());
  }
  TracedText margin;
  if (p.at(0) != nullptr && p.at(0)->if_text() != nullptr) {
    margin = *p.at(0)->if_text();
  } else {
    LOCKSTEP_ASSIGN_OR_RETURN(const int64_t width, p.integer_or(0, 4));
    LOCKSTEP_RETURN_IF_ERROR(runtime.charge_bytes(std::max<int64_t>(width, 0)));
    margin.append(std::string(static_cast<size_t>(std::max<int64_t>(width, 0)), ' '),
                  Origin::kTemplate);
  }
  const bool blank = p.truth_or(2, false);
  TracedText out;
  if (p.truth_or(1, false)) out.append(margin);
  LOCKSTEP_RETURN_IF_ERROR(runtime.charge_bytes(160 * count_lines(text->bytes())));
  TracedText ended = *text;  // so that a last line that is empty counts
  ended.append("\n", Origin::kTemplate);
  const auto lines = split_lines(ended, /*keep_ends=*/false);
  for (size_t i = 0; i < lines.size(); ++i) {
    LOCKSTEP_RETURN_IF_ERROR(runtime.charge_bytes(static_cast<int64_t>(margin.size())));
    if (i > 0) out.append("\n", Origin::kTemplate);
    if (i > 0 && (blank || !lines[i].empty())) out.append(margin);
    out.append(lines[i]);
  }
  return runtime.text(std::move(out));
}

Result format(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(const TracedText text, runtime.str(subject));
  LOCKSTEP_ASSIGN_OR_RETURN(const Value values,
                            runtime.sequence(arguments.positional, SequenceKind::kTuple));
  return format_percent(runtime, text, values);
}

Result word_count(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_RETURN_IF_ERROR(Parameters::bind(arguments, {}).status());
  LOCKSTEP_ASSIGN_OR_RETURN(const TracedText text, runtime.str(subject));
  int64_t words = 0;
  bool in_word = false;
  for (std::string_view rest = text.bytes(); !rest.empty();) {
    const CodePoint c = first_code_point(rest);
    const bool part = is_letter(c.value) || is_numeric(c.value) || c.value == '_';
    words += part && !in_word ? 1 : 0;
    in_word = part;
    rest.remove_prefix(c.bytes);
  }
  return Value::integer(words);
}

Result truncate(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p,
                            Parameters::bind(arguments, {"length", "killwords", "end", "leeway"}));
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t length, p.integer_or(0, 255));
  LOCKSTEP_ASSIGN_OR_RETURN(const TracedText end, p.text_or(2, "..."));
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t leeway, p.integer_or(3, 5));
  if (subject.if_text() == nullptr) {
    return invalid_argument("truncate of {}; expected a string", subject.kind());
  }
  TracedText text = *subject.if_text();
  const int64_t end_length = code_points(end.bytes());
  if (length < end_length || leeway < 0 || leeway > INT32_MAX || length > INT32_MAX) {
    return invalid_argument("truncate to {} characters with leeway {}", length, leeway);
  }
  const int64_t whole = code_points(text.bytes());
  if (whole <= length + leeway) return runtime.text(std::move(text));
  TracedText cut = slice(text, slice_range(0, length - end_length, 1, whole));
  if (!p.truth_or(1, false)) {
    const size_t space = cut.bytes().rfind(' ');
    if (space != std::string::npos) cut = cut.substr(0, space);
  }
  cut.append(end);
  return runtime.text(std::move(cut));
}

// Python's int() or float() of a string, or the fallback.
std::optional<double> real_of(std::string_view text) {
  text = strip_left(strip_right(text));
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

Status past_64_bits() { return invalid_argument("an integer is past 64 bits"); }

// Nothing for what is no integer in the base.
StatusOr<std::optional<int64_t>> integer_of(std::string_view text, int base) {
  text = strip_left(strip_right(text));
  if (text.starts_with('+')) text.remove_prefix(1);
  int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (parsed.ptr != text.data() + text.size() || parsed.ec == std::errc::invalid_argument) {
    return std::optional<int64_t>();
  }
  if (parsed.ec != std::errc()) return past_64_bits();
  return std::optional(value);
}

StatusOr<std::optional<int64_t>> truncated(double value) {
  constexpr double kInt64End = 9223372036854775808.0;
  if (std::isnan(value)) return std::optional<int64_t>();
  if (!(-kInt64End < value && value < kInt64End)) return past_64_bits();
  return std::optional(static_cast<int64_t>(value));
}

Result to_integer(Runtime&, const Value& subject, const Arguments& arguments) {
  if (subject.is_undefined()) return undefined_error(subject);
  LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p, Parameters::bind(arguments, {"default", "base"}));
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t base, p.integer_or(1, 10));
  if (base < 2 || base > 36) return invalid_argument("int in base {}; allowed: 2 to 36", base);
  std::optional<int64_t> value = subject.as_integer();
  if (const double* real = subject.if_real()) {
    LOCKSTEP_ASSIGN_OR_RETURN(value, truncated(*real));
  }
  if (const TracedText* text = subject.if_text()) {
    LOCKSTEP_ASSIGN_OR_RETURN(value, integer_of(text->bytes(), static_cast<int>(base)));
    const auto real = real_of(text->bytes());
    if (!value.has_value() && real.has_value()) {
      LOCKSTEP_ASSIGN_OR_RETURN(value, truncated(*real));
    }
  }
  return value.has_value() ? Value::integer(*value) : p.value_or(0, Value::integer(0));
}

Result to_real(Runtime&, const Value& subject, const Arguments& arguments) {
  if (subject.is_undefined()) return undefined_error(subject);
  LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p, Parameters::bind(arguments, {"default"}));
  std::optional<double> value = subject.as_real();
  if (const TracedText* text = subject.if_text()) value = real_of(text->bytes());
  return value.has_value() ? Value::real(*value) : p.value_or(0, Value::real(0.0));
}

Result absolute(Runtime&, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_RETURN_IF_ERROR(Parameters::bind(arguments, {}).status());
  if (const auto integer = subject.as_integer()) {
    return *integer < 0 ? apply_unary(UnaryOperator::kNegate, subject) : Value::integer(*integer);
  }
  if (const double* real = subject.if_real()) return Value::real(std::fabs(*real));
  return invalid_argument("abs does not work on {}", subject.kind());
}

// To a multiple of 10 ** -precision, half to even.
Result rounded(int64_t value, int64_t precision) {
  int64_t unit = 1;
  for (int64_t i = precision; i < 0; ++i) {
    if (__builtin_mul_overflow(unit, 10, &unit)) return Value::integer(0);
  }
  const int64_t rest = value % unit;
  const int64_t down = value - rest;
  const int64_t beyond = unit - std::abs(rest);  // to the next multiple away from 0
  const bool away = std::abs(rest) > beyond || (std::abs(rest) == beyond && down / unit % 2 != 0);
  int64_t result = down;
  if (away && __builtin_add_overflow(down, value < 0 ? -unit : unit, &result)) {
    return past_64_bits();
  }
  return Value::integer(result);
}

Result round_number(Runtime&, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p,
                            Parameters::bind(arguments, {"precision", "method"}));
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t precision, p.integer_or(0, 0));
  LOCKSTEP_ASSIGN_OR_RETURN(const TracedText method, p.text_or(1, "common"));
  const auto value = subject.as_real();
  if (!value.has_value()) return invalid_argument("round does not work on {}", subject.kind());
  if (precision < -300 || precision > 300) return invalid_argument("round to {} digits", precision);
  const double scale = std::pow(10.0, static_cast<double>(precision));
  // Through an integer in Python, which has no -0.
  if (method.bytes() == "ceil") return Value::real((std::ceil(*value * scale) + 0.0) / scale);
  if (method.bytes() == "floor") return Value::real((std::floor(*value * scale) + 0.0) / scale);
  if (method.bytes() != "common") {
    return invalid_argument("round method; allowed: common, ceil, floor");
  }
  if (const auto integer = subject.as_integer()) return rounded(*integer, precision);
  if (precision <= 0) {
    return Value::real(std::nearbyint(*value * scale) / scale);
  }
  // Correctly rounded decimal digits, as Python has it.
  const std::string digits = fmt::format("{:.{}f}", *value, std::min<int64_t>(precision, 300));
  return Value::real(real_of(digits).value_or(*value));
}

Result to_json_filter(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(
      const Parameters p,
      Parameters::bind(arguments, {"ensure_ascii", "indent", "separators", "sort_keys"}));
  JsonStyle style;
  style.ascii_only = p.truth_or(0, false);
  style.sort_keys = p.truth_or(3, false);
  if (p.given(1)) {
    LOCKSTEP_ASSIGN_OR_RETURN(const int64_t width, p.integer(1));
    if (width > 64) return invalid_argument("tojson with an indent of {}; at most 64", width);
    style.indent = static_cast<int>(std::max<int64_t>(width, 0));
    style.item_separator = TracedText(",", Origin::kTemplate);  // no space before a newline
  }
  if (p.given(2)) {
    const Sequence* pair = p.at(2)->if_sequence();
    if (pair == nullptr || pair->items.size() != 2 || pair->items[0].if_text() == nullptr ||
        pair->items[1].if_text() == nullptr) {
      return invalid_argument("tojson's separators are not two strings");
    }
    style.item_separator = *pair->items[0].if_text();
    style.key_separator = *pair->items[1].if_text();
  }
  // A character may take six, and each part its separators and margin.
  const auto per_part =
      static_cast<int64_t>(style.item_separator.size() + style.key_separator.size()) +
      style.indent.value_or(0) * Value::kMaxDepth;
  int64_t cost = 0;
  if (__builtin_mul_overflow(subject.weight(), 6 + per_part / 16, &cost)) cost = INT64_MAX;
  LOCKSTEP_RETURN_IF_ERROR(runtime.charge_bytes(cost));
  LOCKSTEP_ASSIGN_OR_RETURN(TracedText json, to_json(subject, style));
  return runtime.text(std::move(json));
}

constexpr auto kFilters = std::to_array<Builtin>({
    {"abs", absolute},          {"capitalize", map_text<capitalize>},
    {"center", center},         {"e", escape},
    {"escape", escape},         {"float", to_real},
    {"forceescape", escape},    {"format", format},
    {"indent", indent},         {"int", to_integer},
    {"lower", map_text<lower>}, {"replace", replace_filter},
    {"round", round_number},    {"safe", to_string},
    {"string", to_string},      {"title", map_text<title_pieces>},
    {"tojson", to_json_filter}, {"trim", as_method<kStrip>},
    {"truncate", truncate},     {"upper", map_text<upper>},
    {"wordcount", word_count},
});

}  // namespace

std::span<const Builtin> text_filters() { return kFilters; }

}  // namespace lockstep::text::jinja
