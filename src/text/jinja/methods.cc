// Methods of strings, dicts and lists that change nothing.
#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include "base/text.h"
#include "text/jinja/builtins.h"
#include "text/jinja/lexer.h"
#include "text/jinja/runtime.h"
#include "text/jinja/text_ops.h"
#include "text/utf8.h"

namespace lockstep::text::jinja {
namespace {

using Result = StatusOr<Value>;

const TracedText& self(const Value& subject) { return *subject.if_text(); }

Status no_arguments(const Arguments& arguments) { return Parameters::bind(arguments, {}).status(); }

template <TracedText (*kMap)(const TracedText&)>
Result map_text(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_RETURN_IF_ERROR(no_arguments(arguments));
  return runtime.text(kMap(self(subject)));
}

template <Side kSide>
Result strip_text(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p, Parameters::bind(arguments, {"chars"}));
  if (!p.given(0)) return runtime.text(strip(self(subject), std::nullopt, kSide));
  LOCKSTEP_ASSIGN_OR_RETURN(const TracedText set, p.text(0));
  const auto text_bytes = static_cast<int64_t>(self(subject).size());
  LOCKSTEP_RETURN_IF_ERROR(runtime.charge_bytes(text_bytes * static_cast<int64_t>(set.size())));
  return runtime.text(strip(self(subject), set.bytes(), kSide));
}

// Pays for the objects of a split before they are made.
Status charge_pieces(Runtime& runtime, int64_t pieces) {
  return runtime.charge_bytes(160 * pieces);
}

using Splitting = std::vector<TracedText> (*)(const TracedText&, std::optional<std::string_view>,
                                              int64_t);
template <Splitting kSplit>
Result split_text(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p, Parameters::bind(arguments, {"sep", "maxsplit"}));
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t most, p.integer_or(1, -1));
  const auto at_most = [&](int64_t cuts) { return 1 + (most < 0 ? cuts : std::min(cuts, most)); };
  if (!p.given(0)) {
    const int64_t words = count_words(self(subject).bytes());
    LOCKSTEP_RETURN_IF_ERROR(charge_pieces(runtime, at_most(words)));
    return runtime.texts(kSplit(self(subject), std::nullopt, most));
  }
  LOCKSTEP_ASSIGN_OR_RETURN(const TracedText separator, p.text(0));
  if (separator.empty()) return invalid_argument("split with an empty separator");
  const int64_t cuts = count_occurrences(self(subject).bytes(), separator.bytes());
  LOCKSTEP_RETURN_IF_ERROR(charge_pieces(runtime, at_most(cuts)));
  return runtime.texts(kSplit(self(subject), separator.bytes(), most));
}

Result split_text_lines(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p, Parameters::bind(arguments, {"keepends"}));
  LOCKSTEP_RETURN_IF_ERROR(charge_pieces(runtime, count_lines(self(subject).bytes())));
  return runtime.texts(split_lines(self(subject), p.truth_or(0, false)));
}

// Before, the separator, after; `kLast` cuts at the last one.
template <bool kLast>
Result partition(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p, Parameters::bind(arguments, {"sep"}));
  LOCKSTEP_ASSIGN_OR_RETURN(const TracedText separator, p.text(0));
  if (separator.empty()) return invalid_argument("partition with an empty separator");
  auto parts = kLast ? split_right(self(subject), separator.bytes(), 1)
                     : split(self(subject), separator.bytes(), 1);
  if (parts.size() == 2) {
    parts.insert(parts.begin() + 1, separator);
  } else {
    parts.insert(kLast ? parts.begin() : parts.end(), 2, TracedText());
  }
  std::vector<Value> items;
  for (TracedText& part : parts) {
    LOCKSTEP_ASSIGN_OR_RETURN(Value item, runtime.text(std::move(part)));
    items.push_back(std::move(item));
  }
  return runtime.sequence(std::move(items), SequenceKind::kTuple);
}

Result replace_text(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p,
                            Parameters::bind(arguments, {"old", "new", "count"}));
  LOCKSTEP_ASSIGN_OR_RETURN(const TracedText what, p.text(0));
  LOCKSTEP_ASSIGN_OR_RETURN(const TracedText with, p.text(1));
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t most, p.integer_or(2, -1));
  const int64_t times = count_occurrences(self(subject).bytes(), what.bytes());
  LOCKSTEP_RETURN_IF_ERROR(runtime.charge_bytes(static_cast<int64_t>(self(subject).size())));
  constexpr int64_t kEachTime = 16;
  int64_t growth = 0;
  if (__builtin_mul_overflow(times, kEachTime + static_cast<int64_t>(with.size()), &growth)) {
    growth = INT64_MAX;
  }
  LOCKSTEP_RETURN_IF_ERROR(runtime.charge_bytes(growth));
  return runtime.text(replace(self(subject), what.bytes(), with, most));
}

Result join_texts(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p, Parameters::bind(arguments, {"iterable"}));
  LOCKSTEP_ASSIGN_OR_RETURN(const Value list, p.value(0));
  LOCKSTEP_ASSIGN_OR_RETURN(const auto items, runtime.iterate(list));
  TracedText out;
  for (size_t i = 0; i < items.size(); ++i) {
    const TracedText* text = items[i].if_text();
    if (text == nullptr) {
      return invalid_argument("join of {}; expected strings", items[i].kind());
    }
    LOCKSTEP_RETURN_IF_ERROR(
        runtime.charge_bytes(static_cast<int64_t>(text->size() + self(subject).size())));
    if (i > 0) out.append(self(subject));
    out.append(*text);
  }
  return runtime.text(std::move(out));
}

// One affix, or a tuple of them.
template <bool kEnd>
Result has_affix(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p, Parameters::bind(arguments, {"affix"}));
  LOCKSTEP_ASSIGN_OR_RETURN(const Value given, p.value(0));
  const Sequence* tuple = given.if_sequence();
  const bool is_tuple = tuple != nullptr && tuple->is_tuple();
  const std::vector<Value> affixes = is_tuple ? tuple->items : std::vector<Value>{given};
  for (const Value& affix : affixes) {
    const TracedText* text = affix.if_text();
    if (text == nullptr) {
      return invalid_argument("startswith or endswith of {}; expected a string", affix.kind());
    }
    LOCKSTEP_RETURN_IF_ERROR(runtime.charge_bytes(static_cast<int64_t>(text->size())));
    const std::string& bytes = self(subject).bytes();
    if (kEnd ? bytes.ends_with(text->bytes()) : bytes.starts_with(text->bytes())) {
      return Value::boolean(true);
    }
  }
  return Value::boolean(false);
}

template <bool kEnd>
Result remove_affix(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p, Parameters::bind(arguments, {"affix"}));
  LOCKSTEP_ASSIGN_OR_RETURN(const TracedText affix, p.text(0));
  const TracedText& text = self(subject);
  const bool found =
      kEnd ? text.bytes().ends_with(affix.bytes()) : text.bytes().starts_with(affix.bytes());
  if (!found) return subject;
  return runtime.text(text.substr(kEnd ? 0 : affix.size(), text.size() - affix.size()));
}

// What `start` and `end`, the parameters after the first, leave of a text.
struct Window {
  int64_t start = 0;  // in code points
  TracedText text;
};
StatusOr<std::optional<Window>> window_of(const Value& subject, const Parameters& p) {
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t start, p.integer_or(1, 0));
  const int64_t length = code_points(self(subject).bytes());
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t end, p.integer_or(2, length));
  if (start > length) return std::optional<Window>();  // not even an empty text is there
  const SliceRange range = slice_range(start, end, 1, length);
  return std::optional<Window>({range.begin, slice(self(subject), range)});
}

// The argument that a field of str.format names: by its place, its number or its keyword.
Result format_field(std::string_view field, size_t& next, const Arguments& arguments) {
  size_t number = next;
  const auto read = std::from_chars(field.data(), field.data() + field.size(), number);
  const bool is_number =
      !field.empty() && read.ec == std::errc() && read.ptr == field.data() + field.size();
  if (field.empty()) ++next;
  if (field.empty() || is_number) {
    if (number < arguments.positional.size()) return arguments.positional[number];
    return invalid_argument("format without argument {}", number);
  }
  for (const auto& [name, value] : arguments.keywords) {
    if (name.bytes() == field) return value;
  }
  return invalid_argument("format of the field {}; allowed: a number or name of an argument",
                          quote_text(field));
}

// find, rfind, index, rindex: the position in code points.
template <bool kLast, bool kMustExist>
Result find_text(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p,
                            Parameters::bind(arguments, {"sub", "start", "end"}));
  LOCKSTEP_ASSIGN_OR_RETURN(const TracedText part, p.text(0));
  int64_t cost = 0;
  if (__builtin_mul_overflow(static_cast<int64_t>(self(subject).size()),
                             static_cast<int64_t>(part.size() + 8), &cost)) {
    cost = INT64_MAX;
  }
  LOCKSTEP_RETURN_IF_ERROR(runtime.charge_bytes(cost));
  LOCKSTEP_ASSIGN_OR_RETURN(const auto window, window_of(subject, p));
  if (window.has_value()) {
    const std::string_view bytes = window->text.bytes();
    const size_t at = kLast ? bytes.rfind(part.bytes()) : bytes.find(part.bytes());
    if (at != bytes.npos) return Value::integer(window->start + code_points(bytes.substr(0, at)));
  }
  if (kMustExist) return invalid_argument("the substring is not there");
  return Value::integer(-1);
}

Result count_text(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p,
                            Parameters::bind(arguments, {"sub", "start", "end"}));
  LOCKSTEP_ASSIGN_OR_RETURN(const TracedText part, p.text(0));
  LOCKSTEP_RETURN_IF_ERROR(runtime.charge_bytes(8 * static_cast<int64_t>(self(subject).size())));
  LOCKSTEP_ASSIGN_OR_RETURN(const auto window, window_of(subject, p));
  if (!window.has_value()) return Value::integer(0);
  return Value::integer(count_occurrences(window->text.bytes(), part.bytes()));
}

// Whether there is a character and all of them are of the kind.
template <bool (*kIs)(char32_t)>
Result all_characters(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_RETURN_IF_ERROR(no_arguments(arguments));
  LOCKSTEP_RETURN_IF_ERROR(runtime.charge_for(subject));
  std::string_view rest = self(subject).bytes();
  bool all = !rest.empty();
  while (all && !rest.empty()) {
    const CodePoint c = first_code_point(rest);
    all = kIs(c.value);
    rest.remove_prefix(c.bytes);
  }
  return Value::boolean(all);
}
bool is_ascii(char32_t c) { return c < 0x80; }
bool is_alphanumeric(char32_t c) { return is_letter(c) || is_numeric(c); }

// islower, isupper: some cased characters, and none of the other case.
template <bool kUpper>
Result has_case(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_RETURN_IF_ERROR(no_arguments(arguments));
  LOCKSTEP_RETURN_IF_ERROR(runtime.charge_for(subject));
  bool some = false;
  for (std::string_view rest = self(subject).bytes(); !rest.empty();) {
    const CodePoint c = first_code_point(rest);
    if (kUpper ? is_cased_lower(c.value) : is_cased_upper(c.value)) return Value::boolean(false);
    some |= kUpper ? is_cased_upper(c.value) : is_cased_lower(c.value);
    rest.remove_prefix(c.bytes);
  }
  return Value::boolean(some);
}

// True of the empty text too.
Result all_ascii(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  if (self(subject).empty()) return Value::boolean(true);
  return all_characters<is_ascii>(runtime, subject, arguments);
}

// Some cased characters; upper case after uncased ones alone, lower case after cased ones alone.
Result is_title(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_RETURN_IF_ERROR(no_arguments(arguments));
  LOCKSTEP_RETURN_IF_ERROR(runtime.charge_for(subject));
  bool some = false;
  bool in_word = false;
  for (std::string_view rest = self(subject).bytes(); !rest.empty();) {
    const CodePoint c = first_code_point(rest);
    const bool upper_case = is_cased_upper(c.value);
    const bool cased = upper_case || is_cased_lower(c.value);
    if (cased && upper_case == in_word) return Value::boolean(false);
    some |= cased;
    in_word = cased;
    rest.remove_prefix(c.bytes);
  }
  return Value::boolean(some);
}

// Fields of str.format: {}, {0}, {name}; no attributes, conversions or format specifications.
Result format_fields(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  const TracedText& format = self(subject);
  const std::string_view bytes = format.bytes();
  TracedText out;
  size_t next = 0;  // of the fields without a number
  for (size_t at = 0; at < bytes.size();) {
    const char c = bytes[at];
    if (c != '{' && c != '}') {
      const size_t end = std::min(bytes.find_first_of("{}", at), bytes.size());
      out.append(format, at, end - at);
      at = end;
      continue;
    }
    if (at + 1 < bytes.size() && bytes[at + 1] == c) {  // doubled: itself
      out.append(format, at, 1);
      at += 2;
      continue;
    }
    const size_t close = bytes.find('}', at);
    if (c == '}' || close == bytes.npos) return invalid_argument("format with a single brace");
    const std::string_view field = bytes.substr(at + 1, close - at - 1);
    LOCKSTEP_ASSIGN_OR_RETURN(const Value value, format_field(field, next, arguments));
    LOCKSTEP_ASSIGN_OR_RETURN(const TracedText text, runtime.str(value));
    out.append(text);
    at = close + 1;
  }
  return runtime.text(std::move(out));
}

// Spaces up to the next multiple of a width.
Result expand_tabs(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p, Parameters::bind(arguments, {"tabsize"}));
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t width, p.integer_or(0, 8));
  const TracedText& text = self(subject);
  const std::string_view bytes = text.bytes();
  int64_t column = 0;
  TracedText out;
  for (size_t at = 0; at < bytes.size();) {
    const CodePoint c = first_code_point(bytes.substr(at));
    if (c.value == '\t') {
      const int64_t spaces = width > 0 ? width - column % width : 0;
      LOCKSTEP_RETURN_IF_ERROR(runtime.charge_bytes(spaces));
      out.append(std::string(static_cast<size_t>(spaces), ' '), text.origin_at(at));
      column += spaces;
    } else {
      out.append(text, at, c.bytes);
      column = c.value == '\n' || c.value == '\r' ? 0 : column + 1;
    }
    at += c.bytes;
  }
  return runtime.text(std::move(out));
}

enum class Padding { kLeft, kRight, kBoth };
template <Padding kWhere>
Result pad(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p, Parameters::bind(arguments, {"width", "fillchar"}));
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t width, p.integer(0));
  LOCKSTEP_ASSIGN_OR_RETURN(const TracedText fill, p.text_or(1, " "));
  if (code_points(fill.bytes()) != 1) return invalid_argument("the fill is not one character");
  const int64_t length = code_points(self(subject).bytes());
  const int64_t missing = width > length ? width - length : 0;
  LOCKSTEP_RETURN_IF_ERROR(runtime.charge_bytes(missing));
  // Python's center puts an odd one left where the width is odd too.
  const int64_t both_left = missing / 2 + (missing & width & 1);
  const int64_t left = kWhere == Padding::kLeft   ? missing
                       : kWhere == Padding::kBoth ? both_left
                                                  : 0;
  TracedText out;
  for (int64_t i = 0; i < left; ++i) out.append(fill);
  out.append(self(subject));
  for (int64_t i = left; i < missing; ++i) out.append(fill);
  return runtime.text(std::move(out));
}

Result zero_fill(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p, Parameters::bind(arguments, {"width"}));
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t width, p.integer(0));
  const TracedText& text = self(subject);
  const int64_t length = code_points(text.bytes());
  const int64_t missing = width > length ? width - length : 0;
  LOCKSTEP_RETURN_IF_ERROR(runtime.charge_bytes(missing));
  const size_t sign = text.bytes().starts_with('-') || text.bytes().starts_with('+') ? 1 : 0;
  TracedText out = text.substr(0, sign);
  out.append(std::string(static_cast<size_t>(missing), '0'), Origin::kTemplate);
  out.append(text, sign, text.size() - sign);
  return runtime.text(std::move(out));
}

Result dict_get(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p, Parameters::bind(arguments, {"key", "default"}));
  LOCKSTEP_ASSIGN_OR_RETURN(const Value key, p.value(0));
  LOCKSTEP_RETURN_IF_ERROR(runtime.charge_for(key));
  const Value* found = subject.if_dict()->find(key);
  return found != nullptr ? *found : p.value_or(1, Value());
}

Result dict_items(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_RETURN_IF_ERROR(no_arguments(arguments));
  std::vector<Value> items;
  for (const auto& [key, value] : subject.if_dict()->entries) {
    LOCKSTEP_ASSIGN_OR_RETURN(Value pair, runtime.sequence({key, value}, SequenceKind::kTuple));
    items.push_back(std::move(pair));
  }
  return runtime.list(std::move(items));
}

Result dict_keys(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_RETURN_IF_ERROR(no_arguments(arguments));
  LOCKSTEP_ASSIGN_OR_RETURN(auto keys, runtime.iterate(subject));
  return runtime.list(std::move(keys));
}

Result dict_values(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_RETURN_IF_ERROR(no_arguments(arguments));
  std::vector<Value> values;
  for (const auto& [key, value] : subject.if_dict()->entries) values.push_back(value);
  return runtime.list(std::move(values));
}

Result same_value(Runtime&, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_RETURN_IF_ERROR(no_arguments(arguments));
  return subject;  // values never change, so a copy is the value
}

Result list_index(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p, Parameters::bind(arguments, {"value"}));
  LOCKSTEP_ASSIGN_OR_RETURN(const Value wanted, p.value(0));
  LOCKSTEP_RETURN_IF_ERROR(runtime.charge_for(subject));
  const auto& items = subject.if_sequence()->items;
  const auto same = [&](const Value& item) { return equal(item, wanted); };
  const auto found = std::ranges::find_if(items, same);
  if (found == items.end()) return invalid_argument("index of an item that is not in the list");
  return Value::integer(found - items.begin());
}

Result list_count(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p, Parameters::bind(arguments, {"value"}));
  LOCKSTEP_ASSIGN_OR_RETURN(const Value wanted, p.value(0));
  LOCKSTEP_RETURN_IF_ERROR(runtime.charge_for(subject));
  const auto same = [&](const Value& item) { return equal(item, wanted); };
  return Value::integer(std::ranges::count_if(subject.if_sequence()->items, same));
}

constexpr auto kTextMethods = std::to_array<Builtin>({
    {"capitalize", map_text<capitalize>},
    {"casefold", map_text<lower>},
    {"center", pad<Padding::kBoth>},
    {"count", count_text},
    {"endswith", has_affix<true>},
    {"expandtabs", expand_tabs},
    {"find", find_text<false, false>},
    {"format", format_fields},
    {"index", find_text<false, true>},
    {"isalnum", all_characters<is_alphanumeric>},
    {"isalpha", all_characters<is_letter>},
    {"isascii", all_ascii},
    {"isdecimal", all_characters<is_digit>},
    {"isdigit", all_characters<is_digit>},
    {"islower", has_case<false>},
    {"isnumeric", all_characters<is_numeric>},
    {"isspace", all_characters<is_python_space>},
    {"istitle", is_title},
    {"isupper", has_case<true>},
    {"join", join_texts},
    {"ljust", pad<Padding::kRight>},
    {"lower", map_text<lower>},
    {"lstrip", strip_text<Side::kLeft>},
    {"partition", partition<false>},
    {"removeprefix", remove_affix<false>},
    {"removesuffix", remove_affix<true>},
    {"replace", replace_text},
    {"rfind", find_text<true, false>},
    {"rindex", find_text<true, true>},
    {"rjust", pad<Padding::kLeft>},
    {"rpartition", partition<true>},
    {"rsplit", split_text<split_right>},
    {"rstrip", strip_text<Side::kRight>},
    {"split", split_text<split>},
    {"splitlines", split_text_lines},
    {"startswith", has_affix<false>},
    {"strip", strip_text<Side::kBoth>},
    {"swapcase", map_text<swap_case>},
    {"title", map_text<title>},
    {"upper", map_text<upper>},
    {"zfill", zero_fill},
});

constexpr auto kDictMethods = std::to_array<Builtin>({
    {"copy", same_value},
    {"get", dict_get},
    {"items", dict_items},
    {"keys", dict_keys},
    {"values", dict_values},
});

constexpr auto kListMethods = std::to_array<Builtin>({
    {"copy", same_value},
    {"count", list_count},
    {"index", list_index},
});

const Builtin* find_in(std::span<const Builtin> table, std::string_view name) {
  const auto found = std::ranges::find(table, name, &Builtin::name);
  return found == table.end() ? nullptr : &*found;
}

}  // namespace

const Builtin* find_method(const Value& object, std::string_view name) {
  if (object.if_text() != nullptr) return find_in(kTextMethods, name);
  if (object.if_dict() != nullptr) return find_in(kDictMethods, name);
  const Sequence* sequence = object.if_sequence();
  if (sequence == nullptr || sequence->kind == SequenceKind::kStream) return nullptr;
  return find_in(kListMethods, name);
}

bool is_forbidden_attribute(const Value& object, std::string_view name) {
  constexpr std::string_view kDictNames[] = {"clear",   "fromkeys",   "pop",
                                             "popitem", "setdefault", "update"};
  constexpr std::string_view kListNames[] = {"append", "clear",  "extend",  "insert",
                                             "pop",    "remove", "reverse", "sort"};
  if (object.if_dict() != nullptr) {
    return std::ranges::find(kDictNames, name) != std::end(kDictNames);
  }
  return object.if_sequence() != nullptr &&
         std::ranges::find(kListNames, name) != std::end(kListNames);
}

}  // namespace lockstep::text::jinja
