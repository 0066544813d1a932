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
  for (; !rest.empty() && std::string_view("-0+ #").find(rest[0]) != std::string_view::npos;
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
  if (rest.empty() || std::string_view("srdiufFxX%").find(spec.kind) == std::string_view::npos) {
    return invalid_argument("a % format that is not %s %r %d %i %u %f %x %X or %%");
  }
  rest.remove_prefix(1);
  return spec;
}

StatusOr<TracedText> convert(Runtime& runtime, const Spec& spec, const Value& value) {
  if (spec.kind == 's' || spec.kind == 'r') {
    LOCKSTEP_RETURN_IF_ERROR(runtime.charge_for(value));
    TracedText text = spec.kind == 's' ? to_text(value) : to_repr(value);
    if (spec.precision < 0) return text;
    return slice(text, slice_range(0, spec.precision, 1, code_points(text.bytes())));
  }
  const auto real = value.as_real();
  if (!real.has_value()) {
    return invalid_argument("%{} does not work on {}", spec.kind, value.kind());
  }
  std::string digits;
  if (spec.kind == 'f' || spec.kind == 'F') {
    digits = fmt::format("{:.{}f}", std::fabs(*real), spec.precision < 0 ? 6 : spec.precision);
  } else {
    constexpr double kInt64End = 9223372036854775808.0;
    if (!(-kInt64End < *real && *real < kInt64End)) {
      return invalid_argument("%{} of a number past 64 bits", spec.kind);
    }
    const int64_t integer = value.as_integer().value_or(static_cast<int64_t>(*real));
    const uint64_t magnitude =
        integer < 0 ? -static_cast<uint64_t>(integer) : static_cast<uint64_t>(integer);
    digits = spec.kind == 'x'   ? fmt::format("{:x}", magnitude)
             : spec.kind == 'X' ? fmt::format("{:X}", magnitude)
                                : fmt::format("{}", magnitude);
  }
  const char plus[] = {spec.sign, '\0'};
  const std::string_view sign = std::signbit(*real) ? "-" : plus;
  const auto width = static_cast<size_t>(spec.width);
  if (spec.zero && !spec.left && sign.size() + digits.size() < width) {
    digits.insert(0, width - sign.size() - digits.size(), '0');
  }
  return TracedText(fmt::format("{}{}", sign, digits), Origin::kTemplate);
}

}  // namespace

StatusOr<Value> format_percent(Runtime& runtime, const TracedText& format, const Value& values) {
  const Sequence* sequence = values.if_sequence();
  const bool is_tuple = sequence != nullptr && sequence->kind == SequenceKind::kTuple;
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
  if (used < arguments.size() && values.if_dict() == nullptr) {
    return invalid_argument("a % format with too many values");
  }
  return runtime.text(std::move(out));
}

}  // namespace lockstep::text::jinja
