#include <cstring>
#include <optional>

#include "base/text.h"
#include "formats/gguf.h"

namespace lockstep::formats {
namespace {

std::string describe(const GgufValue& value) {
  if (const auto* i = std::get_if<int64_t>(&value)) return fmt::format("{}", *i);
  if (const auto* u = std::get_if<uint64_t>(&value)) return fmt::format("{}", *u);
  if (const auto* d = std::get_if<double>(&value)) return fmt::format("{}", *d);
  if (const auto* b = std::get_if<bool>(&value)) return *b ? "true" : "false";
  if (const auto* s = std::get_if<std::string_view>(&value)) return quote_text(*s);
  return fmt::format("an array of {}", std::get<GgufArray>(value).count);
}

Status wrong_value(std::string_view key, const GgufValue& value, std::string_view expected) {
  return invalid_argument("{} is {}; expected {}", key, describe(value), expected);
}

template <class T>
T element(const GgufArray& array, uint64_t i) {
  T value;
  std::memcpy(&value, array.numbers.data() + i * sizeof(T), sizeof(T));
  return value;
}

// Empty where the elements are no integers or the value does not fit.
std::optional<int64_t> integer_element(const GgufArray& array, uint64_t i) {
  switch (array.element) {
    case GgufType::kU8:
      return element<uint8_t>(array, i);
    case GgufType::kI8:
      return element<int8_t>(array, i);
    case GgufType::kU16:
      return element<uint16_t>(array, i);
    case GgufType::kI16:
      return element<int16_t>(array, i);
    case GgufType::kU32:
      return element<uint32_t>(array, i);
    case GgufType::kI32:
      return element<int32_t>(array, i);
    case GgufType::kI64:
      return element<int64_t>(array, i);
    case GgufType::kU64: {
      const auto value = element<uint64_t>(array, i);
      if (value > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
      return static_cast<int64_t>(value);
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

auto GgufMetadata::key_at() const {
  return [this](size_t i) { return entries_[i].first; };
}

StatusOr<GgufMetadata> GgufMetadata::create(
    std::vector<std::pair<std::string_view, GgufValue>> entries) {
  GgufMetadata out;
  out.entries_ = std::move(entries);
  LOCKSTEP_ASSIGN_OR_RETURN(out.by_key_,
                            NameIndex::create(out.entries_.size(), "key", out.key_at()));
  return out;
}

const GgufValue* GgufMetadata::find(std::string_view key) const {
  const auto i = by_key_.find(key, key_at());
  return i ? &entries_[*i].second : nullptr;
}

StatusOr<const GgufValue*> GgufMetadata::required(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return invalid_argument("{} is missing", key);
  return value;
}

StatusOr<const GgufArray*> GgufMetadata::array(std::string_view key) const {
  LOCKSTEP_ASSIGN_OR_RETURN(const GgufValue* value, required(key));
  if (const auto* a = std::get_if<GgufArray>(value)) return a;
  return wrong_value(key, *value, "an array");
}

StatusOr<int64_t> GgufMetadata::integer(std::string_view key, int64_t lo, int64_t hi) const {
  LOCKSTEP_ASSIGN_OR_RETURN(const GgufValue* value, required(key));
  if (const auto* i = std::get_if<int64_t>(value); i != nullptr && lo <= *i && *i <= hi) return *i;
  return wrong_value(key, *value, fmt::format("an integer in [{}, {}]", lo, hi));
}

StatusOr<double> GgufMetadata::number(std::string_view key, double lo, double hi) const {
  LOCKSTEP_ASSIGN_OR_RETURN(const GgufValue* value, required(key));
  std::optional<double> number;
  if (const auto* d = std::get_if<double>(value)) number = *d;
  if (const auto* i = std::get_if<int64_t>(value)) number = static_cast<double>(*i);
  if (number && lo <= *number && *number <= hi) return *number;
  return wrong_value(key, *value, fmt::format("a number in [{}, {}]", lo, hi));
}

StatusOr<bool> GgufMetadata::boolean(std::string_view key) const {
  LOCKSTEP_ASSIGN_OR_RETURN(const GgufValue* value, required(key));
  if (const auto* b = std::get_if<bool>(value)) return *b;
  return wrong_value(key, *value, "true or false");
}

StatusOr<std::string_view> GgufMetadata::string(std::string_view key) const {
  LOCKSTEP_ASSIGN_OR_RETURN(const GgufValue* value, required(key));
  if (const auto* s = std::get_if<std::string_view>(value)) return *s;
  return wrong_value(key, *value, "a string");
}

StatusOr<std::span<const std::string_view>> GgufMetadata::strings(std::string_view key) const {
  LOCKSTEP_ASSIGN_OR_RETURN(const GgufArray* values, array(key));
  if (values->element != GgufType::kString) {
    return invalid_argument("{} is an array of numbers; expected strings", key);
  }
  return std::span<const std::string_view>(values->strings);
}

StatusOr<std::vector<int64_t>> GgufMetadata::integers(std::string_view key, int64_t lo,
                                                      int64_t hi) const {
  LOCKSTEP_ASSIGN_OR_RETURN(const GgufArray* values, array(key));
  std::vector<int64_t> out;
  out.reserve(values->count);
  for (uint64_t i = 0; i < values->count; ++i) {
    const auto value = integer_element(*values, i);
    if (!value || !(lo <= *value && *value <= hi)) {
      return invalid_argument("{}[{}] is not an integer in [{}, {}]", key, i, lo, hi);
    }
    out.push_back(*value);
  }
  return out;
}

StatusOr<std::vector<float>> GgufMetadata::floats(std::string_view key) const {
  LOCKSTEP_ASSIGN_OR_RETURN(const GgufArray* values, array(key));
  if (values->element != GgufType::kF32) {
    return invalid_argument("{} is an array of another type; expected F32", key);
  }
  std::vector<float> out;
  out.reserve(values->count);
  for (uint64_t i = 0; i < values->count; ++i) out.push_back(element<float>(*values, i));
  return out;
}

StatusOr<std::vector<bool>> GgufMetadata::booleans(std::string_view key) const {
  LOCKSTEP_ASSIGN_OR_RETURN(const GgufArray* values, array(key));
  if (values->element != GgufType::kBool) {
    return invalid_argument("{} is an array of another type; expected booleans", key);
  }
  std::vector<bool> out;
  out.reserve(values->count);
  for (const std::byte value : values->numbers) out.push_back(value != std::byte{0});
  return out;
}

StatusOr<uint64_t> GgufMetadata::array_size(std::string_view key) const {
  LOCKSTEP_ASSIGN_OR_RETURN(const GgufArray* values, array(key));
  return values->count;
}

StatusOr<int64_t> GgufMetadata::integer_or(std::string_view key, int64_t fallback, int64_t lo,
                                           int64_t hi) const {
  if (!has(key)) return fallback;
  return integer(key, lo, hi);
}

StatusOr<double> GgufMetadata::number_or(std::string_view key, double fallback, double lo,
                                         double hi) const {
  if (!has(key)) return fallback;
  return number(key, lo, hi);
}

StatusOr<bool> GgufMetadata::boolean_or(std::string_view key, bool fallback) const {
  if (!has(key)) return fallback;
  return boolean(key);
}

StatusOr<std::string_view> GgufMetadata::string_or(std::string_view key,
                                                   std::string_view fallback) const {
  if (!has(key)) return fallback;
  return string(key);
}

}  // namespace lockstep::formats
