// Python's % on strings.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "text/jinja/operators.h"
#include "text/jinja/text_ops.h"

namespace lockstep::text::jinja {
namespace {

constexpr int kMaxWidth = 1000;

struct Spec {
  bool left = false;
  bool zero = false;
  char sign = '\0';  // '+' or ' '
  int width = 0;
  int precision = -1;
  char kind = 's';
};

// After the '%'; moves `rest` behind the conversion's letter.
StatusOr<Spec> read_spec(std::string_view& rest) {
  Spec spec;
  const auto next = [&] { return rest.empty() ? '\0' : rest[0]; };
  for (; !rest.empty() && std::string_view("-0+ ").find(rest[0]) != std::string_view::npos;
       rest.remove_prefix(1)) {
    spec.left |= rest[0] == '-';
    spec.zero |= rest[0] == '0';
    if (rest[0] == '+' || rest[0] == ' ') spec.sign = rest[0];
  }
  const auto number = [&] {
    int value = 0;
    for (; '0' <= next() && next() <= '9'; rest.remove_prefix(1)) {
      value = std::min(value * 10 + (next() - '0'), kMaxWidth + 1);
    }
    return value;
  };
  spec.width = number();
  if (next() == '.') {
    rest.remove_prefix(1);
    spec.precision = number();
  }
  if (spec.width > kMaxWidth || spec.precision > kMaxWidth) {
    return invalid_argument("a width in a % format is over {}", kMaxWidth);
  }
  spec.kind = next();
  if (rest.empty() || std::string_view("srdiufFeEgGoxXc%").find(spec.kind) == rest.npos) {
    return invalid_argument(
        "a % format that is not %s %r %d %i %u %f %F %e %E %g %G %o %x %X %c or %%");
  }
  rest.remove_prefix(1);
  return spec;
}

// Of the number's magnitude.
StatusOr<std::string> integer_digits(const Spec& spec, const Value& value) {
  constexpr double kInt64End = 9223372036854775808.0;
  const double real = *value.as_real();
  const bool decimal = spec.kind == 'd' || spec.kind == 'i' || spec.kind == 'u';
  if (!value.as_integer() && !decimal) {
    return invalid_argument("%{} does not work on {}", spec.kind, value.kind());
  }
  if (!(-kInt64End < real && real < kInt64End) && !value.as_integer()) {
    return invalid_argument("%{} of a number past 64 bits", spec.kind);
  }
  const int64_t integer = value.as_integer() ? *value.as_integer() : static_cast<int64_t>(real);
  const uint64_t magnitude =
      integer < 0 ? -static_cast<uint64_t>(integer) : static_cast<uint64_t>(integer);
  std::string digits = spec.kind == 'x'   ? fmt::format("{:x}", magnitude)
                       : spec.kind == 'X' ? fmt::format("{:X}", magnitude)
                       : spec.kind == 'o' ? fmt::format("{:o}", magnitude)
                                          : fmt::format("{}", magnitude);
  // A precision is the least number of digits.
  const auto least = static_cast<size_t>(std::max(spec.precision, 0));
  if (digits.size() < least) digits.insert(0, least - digits.size(), '0');
  return digits;
}

StatusOr<TracedText> convert(Runtime& runtime, const Spec& spec, const Value& value) {
  if (spec.kind == 's' || spec.kind == 'r') {
    LOCKSTEP_RETURN_IF_ERROR(runtime.charge_for(value));
    TracedText text = spec.kind == 's' ? to_text(value) : to_repr(value);
    if (spec.precision < 0) return text;
    return slice(text, slice_range(0, spec.precision, 1, code_points(text.bytes())));
  }
  if (spec.kind == 'c') {
    // Of a character alone: one made from a number would not be what anybody wrote.
    const TracedText* text = value.if_text();
    if (text != nullptr && code_points(text->bytes()) == 1) return *text;
    return invalid_argument("%c does not work on {}", value.kind());
  }
  const auto real = value.as_real();
  if (!real.has_value()) {
    return invalid_argument("%{} does not work on {}", spec.kind, value.kind());
  }
  std::string digits;
  const bool is_real = std::string_view("fFeEgG").find(spec.kind) != std::string_view::npos;
  if (is_real) {
    const std::string form = fmt::format("{{:.{}{}}}", spec.precision < 0 ? 6 : spec.precision,
                                         std::isfinite(*real) ? spec.kind : 'f');
    digits = fmt::format(fmt::runtime(form), std::fabs(*real));
  } else {
    LOCKSTEP_ASSIGN_OR_RETURN(digits, integer_digits(spec, value));
  }
  const char plus[] = {spec.sign, '\0'};
  // An integer's sign is that of what it was cut to: there is no -0.
  const bool negative = std::signbit(*real) && (is_real || std::trunc(*real) != 0);
  const std::string_view sign = negative ? "-" : plus;
  const auto width = static_cast<size_t>(spec.width);
  if (spec.zero && !spec.left && sign.size() + digits.size() < width) {
    digits.insert(0, width - sign.size() - digits.size(), '0');
  }
  return TracedText(fmt::format("{}{}", sign, digits), Origin::kTemplate);
}

}  // namespace

StatusOr<Value> format_percent(Runtime& runtime, const TracedText& format, const Value& values) {
  const Sequence* sequence = values.if_sequence();
  const bool is_tuple = sequence != nullptr && sequence->is_tuple();
  const std::vector<Value> arguments = is_tuple ? sequence->items : std::vector<Value>{values};
  size_t used = 0;
  TracedText out;
  std::string_view rest = format.bytes();
  while (!rest.empty()) {
    const size_t begin = format.size() - rest.size();
    const size_t plain = std::min(rest.find('%'), rest.size());
    out.append(format, begin, plain);
    rest.remove_prefix(plain);
    if (rest.empty()) break;
    rest.remove_prefix(1);
    LOCKSTEP_ASSIGN_OR_RETURN(const Spec spec, read_spec(rest));
    if (spec.kind == '%') {
      out.append("%", format.origin_at(begin + plain));
      continue;
    }
    if (used == arguments.size()) return invalid_argument("a % format with too few values");
    LOCKSTEP_ASSIGN_OR_RETURN(const TracedText text, convert(runtime, spec, arguments[used++]));
    const auto length = static_cast<size_t>(code_points(text.bytes()));
    const std::string padding(
        static_cast<size_t>(spec.width) - std::min<size_t>(spec.width, length), ' ');
    if (!spec.left) out.append(padding, Origin::kTemplate);
    out.append(text);
    if (spec.left) out.append(padding, Origin::kTemplate);
  }
  // Python takes a list for a mapping here, which may stay unused.
  const bool may_stay = values.if_dict() != nullptr || (sequence != nullptr && !is_tuple);
  if (used < arguments.size() && !may_stay) {
    return invalid_argument("a % format with too many values");
  }
  return runtime.text(std::move(out));
}

}  // namespace lockstep::text::jinja
