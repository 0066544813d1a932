#include "text/normalizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <vector>

#include "text/character_class.h"
#include "text/text_replace.h"
#include "text/utf8.h"

namespace lockstep::text {
namespace {

using formats::NormalizerStep;
using Kind = NormalizerStep::Kind;

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

StatusOr<std::string> unicode_form(std::string_view utf8, int form) {
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::ranges::all_of(utf8, is_ascii)) return std::string(utf8);  // the same in every form
  constexpr int kLongestDecomposition = 18;                           // U+FDFA
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | form);
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

// Character by character; the one whose small form is two characters is U+0130.
std::string lowercase(std::string_view utf8) {
  std::string out;
  out.reserve(utf8.size());
  while (!utf8.empty()) {
    const CodePoint c = first_code_point(utf8);
    utf8.remove_prefix(c.bytes);
    if (c.value == 0x130) {
      append_utf8(out, U'i');
      append_utf8(out, 0x307);
    } else {
      append_utf8(out,
                  static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c.value))));
    }
  }
  return out;
}

}  // namespace

StatusOr<Normalizer> Normalizer::create(std::vector<NormalizerStep> steps) {
  if (steps.size() > kMaxSteps) {
    return invalid_argument("normalizer has {} steps; at most {} are allowed", steps.size(),
                            kMaxSteps);
  }
  Normalizer normalizer;
  for (NormalizerStep& source : steps) {
    Step step{.source = std::move(source), .regex = {}};
    if (step.source.kind == Kind::kReplaceRegex) {
      LOCKSTEP_ASSIGN_OR_RETURN(step.regex,
                                Regex::create(step.source.pattern, Regex::Trust::kFile));
    }
    normalizer.steps_.push_back(std::move(step));
  }
  return normalizer;
}

StatusOr<std::string> Normalizer::apply_step(const Step& step, std::string_view utf8,
                                             RegexRun& run) {
  switch (step.source.kind) {
    case Kind::kNfc:
      return unicode_form(utf8, UTF8PROC_COMPOSE);
    case Kind::kNfd:
      return unicode_form(utf8, UTF8PROC_DECOMPOSE);
    case Kind::kNfkc:
      return unicode_form(utf8, UTF8PROC_COMPOSE | UTF8PROC_COMPAT);
    case Kind::kNfkd:
      return unicode_form(utf8, UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT);
    case Kind::kLowercase:
      return lowercase(utf8);
    case Kind::kReplace:
      return replace_all(utf8, step.source.pattern, step.source.text, kMaxNormalizedBytes);
    case Kind::kReplaceRegex: {
      std::vector<MatchSpan> matches;
      LOCKSTEP_RETURN_IF_ERROR(step.regex->find_all(utf8, run, matches));
      return replace_spans(utf8, matches, step.source.text, kMaxNormalizedBytes);
    }
    case Kind::kPrepend:
      return utf8.empty() ? std::string() : step.source.text + std::string(utf8);
    case Kind::kStripLeft:
      return std::string(utf8.substr(skip_spaces_right(utf8, 0)));
    case Kind::kStripRight:
      return std::string(utf8.substr(0, skip_spaces_left(utf8, utf8.size(), 0)));
  }
  return std::string(utf8);
}

// Each stretch inside and between the ranges goes through the step on its own. Where they do not
// come out as the parts of the whole, the step has joined what lies on two sides of a border.
Status Normalizer::move_ranges(const Step& step, std::string_view before, std::string_view after,
                               RegexRun& run, std::vector<ByteRange>& ranges) {
  std::string joined;
  size_t done = 0;
  const auto append = [&](size_t end) -> Status {
    const std::string_view part = before.substr(done, end - done);
    done = end;
    // Only the very front of the text gets a prefix; it belongs to what is there.
    if (step.source.kind == Kind::kPrepend && !joined.empty()) {
      joined += part;
      return ok_status();
    }
    LOCKSTEP_ASSIGN_OR_RETURN(const std::string moved, apply_step(step, part, run));
    joined += moved;
    return ok_status();
  };
  for (ByteRange& range : ranges) {
    LOCKSTEP_RETURN_IF_ERROR(append(range.begin));
    const size_t begin = joined.size();
    LOCKSTEP_RETURN_IF_ERROR(append(range.end));
    range = {begin, joined.size()};
  }
  LOCKSTEP_RETURN_IF_ERROR(append(before.size()));
  if (joined != after) ranges.clear();
  return ok_status();
}

StatusOr<std::string> Normalizer::apply(std::string_view utf8) const {
  std::vector<ByteRange> none;
  return apply(utf8, none);
}

StatusOr<std::string> Normalizer::apply(std::string_view utf8,
                                        std::vector<ByteRange>& ranges) const {
  std::string text(utf8);
  RegexRun run(utf8.size());
  for (const Step& step : steps_) {
    LOCKSTEP_ASSIGN_OR_RETURN(std::string next, apply_step(step, text, run));
    if (!ranges.empty()) LOCKSTEP_RETURN_IF_ERROR(move_ranges(step, text, next, run, ranges));
    text = std::move(next);
  }
  return text;
}

}  // namespace lockstep::text
