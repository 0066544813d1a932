#include "text/normalizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <vector>

#include "text/utf8.h"

namespace lockstep::text {
namespace {

using formats::Normalization;

int options_of(Normalization step) {
  switch (step) {
    case Normalization::kNfc:
      return UTF8PROC_STABLE | UTF8PROC_COMPOSE;
    case Normalization::kNfd:
      return UTF8PROC_STABLE | UTF8PROC_DECOMPOSE;
    case Normalization::kNfkc:
      return UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT;
    case Normalization::kNfkd:
      return UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT;
  }
  return 0;
}

int combining_class(utf8proc_int32_t c) { return utf8proc_get_property(c)->combining_class; }

// Unicode's canonical order. utf8proc_decompose would sort each run of marks by insertion, which is
// quadratic in a run that a user chooses.
void sort_marks(std::vector<utf8proc_int32_t>& code_points) {
  for (auto at = code_points.begin(); at != code_points.end();) {
    const auto is_starter = [](utf8proc_int32_t c) { return combining_class(c) == 0; };
    const auto begin = std::find_if_not(at, code_points.end(), is_starter);
    at = std::find_if(begin, code_points.end(), is_starter);
    std::ranges::stable_sort(begin, at, {}, combining_class);
  }
}

StatusOr<std::string> apply_step(std::string_view utf8, Normalization step) {
  constexpr int kLongestDecomposition = 18;  // U+FDFA
  const auto options = static_cast<utf8proc_option_t>(options_of(step));
  std::vector<utf8proc_int32_t> code_points;
  code_points.reserve(utf8.size());
  while (!utf8.empty()) {
    const CodePoint c = first_code_point(utf8);
    std::array<utf8proc_int32_t, 2 * kLongestDecomposition> parts;
    int boundary = 0;
    const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c.value), parts.data(),
                                               parts.size(), options, &boundary);
    if (count < 0 || count > static_cast<utf8proc_ssize_t>(parts.size())) {
      return invalid_argument("U+{:04X} cannot be normalised", static_cast<uint32_t>(c.value));
    }
    code_points.insert(code_points.end(), parts.begin(), parts.begin() + count);
    utf8.remove_prefix(c.bytes);
  }
  sort_marks(code_points);
  const auto count = utf8proc_normalize_utf32(
      code_points.data(), static_cast<utf8proc_ssize_t>(code_points.size()), options);
  if (count < 0) return invalid_argument("normalising the text: {}", utf8proc_errmsg(count));
  std::string out;
  for (utf8proc_ssize_t i = 0; i < count; ++i) {
    append_utf8(out, static_cast<char32_t>(code_points[i]));
  }
  return out;
}

}  // namespace

StatusOr<std::string> normalize(std::string_view utf8, std::span<const Normalization> steps) {
  std::string text(utf8);
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::ranges::all_of(utf8, is_ascii)) return text;  // the same in every form
  for (const Normalization step : steps) {
    LOCKSTEP_ASSIGN_OR_RETURN(text, apply_step(text, step));
  }
  return text;
}

}  // namespace lockstep::text
