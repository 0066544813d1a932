// Functions that every template has.
#include <algorithm>
#include <array>
#include <ctime>

#include "base/text.h"
#include "text/jinja/builtins.h"
#include "text/jinja/runtime.h"
#include "text/jinja/text_ops.h"

namespace lockstep::text::jinja {
namespace {

using Result = StatusOr<Value>;

constexpr int64_t kMaxRange = 100'000;  // as jinja2's sandbox

Result range(Runtime& runtime, const Value&, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p,
                            Parameters::bind(arguments, {"start", "stop", "step"}));
  LOCKSTEP_ASSIGN_OR_RETURN(int64_t start, p.integer(0));
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t step, p.integer_or(2, 1));
  int64_t stop = start;
  if (p.given(1)) {
    LOCKSTEP_ASSIGN_OR_RETURN(stop, p.integer(1));
  } else {
    start = 0;
  }
  if (step == 0) return invalid_argument("a range's step is 0");
  std::vector<Value> items;
  for (int64_t at = start; step > 0 ? at < stop : at > stop;) {
    if (static_cast<int64_t>(items.size()) == kMaxRange) {
      return invalid_argument("a range of more than {} numbers", kMaxRange);
    }
    items.push_back(Value::integer(at));
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  return runtime.sequence(std::move(items), SequenceKind::kRange);
}

Result make_namespace(Runtime& runtime, const Value&, const Arguments& arguments) {
  auto space = std::make_shared<Namespace>();
  for (const Value& value : arguments.positional) {
    const Dict* dict = value.if_dict();
    if (dict == nullptr) return invalid_argument("a namespace of {}", value.kind());
    for (const auto& [key, item] : dict->entries) {
      if (key.if_text() != nullptr) space->fields[key.if_text()->bytes()] = item;
    }
  }
  for (const auto& [name, value] : arguments.keywords) {
    LOCKSTEP_RETURN_IF_ERROR(check_storable(value));
    space->fields[name.bytes()] = value;
  }
  LOCKSTEP_RETURN_IF_ERROR(
      runtime.charge_bytes(128 * static_cast<int64_t>(space->fields.size() + 1)));
  return Value::namespace_of(std::move(space));
}

Result make_dict(Runtime& runtime, const Value&, const Arguments& arguments) {
  std::vector<std::pair<Value, Value>> entries;
  for (const Value& value : arguments.positional) {
    if (const Dict* dict = value.if_dict()) {
      entries.insert(entries.end(), dict->entries.begin(), dict->entries.end());
      continue;
    }
    LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<Value> pairs, runtime.iterate(value));
    for (const Value& pair : pairs) {
      LOCKSTEP_ASSIGN_OR_RETURN(std::vector<Value> parts, runtime.iterate(pair));
      if (parts.size() != 2) return invalid_argument("dict of items that are no pairs");
      entries.emplace_back(std::move(parts[0]), std::move(parts[1]));
    }
  }
  for (const auto& [name, value] : arguments.keywords) {
    entries.emplace_back(Value::text(name), value);
  }
  return runtime.dict(std::move(entries));
}

// The template's own refusal. Its text may hold parts of a message: one line, cut.
Result raise_exception(Runtime& runtime, const Value&, const Arguments& arguments) {
  constexpr int64_t kMaxShown = 300;
  LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p, Parameters::bind(arguments, {"message"}));
  LOCKSTEP_ASSIGN_OR_RETURN(const Value given, p.value(0));
  LOCKSTEP_ASSIGN_OR_RETURN(const TracedText text, runtime.str(given));
  const int64_t length = code_points(text.bytes());
  std::string message = slice(text, slice_range(0, kMaxShown, 1, length)).bytes();
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; };
  std::ranges::replace_if(message, is_control, ' ');
  return invalid_argument("the chat template refuses this conversation: {}", message);
}

// datetime.strftime of the runtime's clock, as UTC without a zone.
Result strftime_now(Runtime& runtime, const Value&, const Arguments& arguments) {
  constexpr std::string_view kConversions = "aAbBcdDeFGhHIjmMnpRStTuUVwWxXyY%";
  LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p, Parameters::bind(arguments, {"format"}));
  LOCKSTEP_ASSIGN_OR_RETURN(const TracedText format, p.text(0));
  const std::time_t seconds = runtime.now_unix_seconds();
  std::tm now{};
  if (gmtime_r(&seconds, &now) == nullptr) return invalid_argument("the time is out of range");
  TracedText out;
  const auto write = [&](std::string_view shown) { out.append(shown, Origin::kTemplate); };
  const std::string_view text = format.bytes();
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      out.append(format, at, 1);
      continue;
    }
    std::string conversion = "%";
    if (text.substr(at + 1).starts_with('-')) conversion += text[++at];
    const char letter = at + 1 < text.size() ? text[++at] : '\0';
    if (letter == 'f') {
      write("000000");
    } else if (letter != '\0' && kConversions.find(letter) != kConversions.npos) {
      conversion += letter;
      std::array<char, 128> shown{};
      write({shown.data(), std::strftime(shown.data(), shown.size(), conversion.c_str(), &now)});
    } else if (letter != 'z' && letter != 'Z') {
      conversion += letter;
      return invalid_argument("strftime_now with the conversion {}", quote_text(conversion));
    }
  }
  return runtime.text(std::move(out));
}

constexpr auto kGlobals = std::to_array<Builtin>({
    {"dict", make_dict},
    {"namespace", make_namespace},
    {"raise_exception", raise_exception},
    {"range", range},
    {"strftime_now", strftime_now},
});

}  // namespace

const Builtin* find_global(std::string_view name) {
  const auto found = std::ranges::find(kGlobals, name, &Builtin::name);
  return found == kGlobals.end() ? nullptr : &*found;
}

}  // namespace lockstep::text::jinja
