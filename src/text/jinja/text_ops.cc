#include "text/jinja/text_ops.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "text/jinja/lexer.h"
#include "text/utf8.h"

namespace lockstep::text::jinja {
namespace {

struct Character {
  char32_t value;
  size_t begin;
  size_t end;
};

// Calls visit for each character, in order, until it returns false.
template <class Visit>
void for_each_character(std::string_view text, const Visit& visit) {
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = first_code_point(text.substr(at));
    if (!visit(Character{c.value, at, at + c.bytes})) return;
    at += c.bytes;
  }
}

// The text with each character replaced by what `map(character)` appends to a string; characters
// that it leaves alone (returns false) are copied.
template <class Map>
TracedText map_characters(const TracedText& text, const Map& map) {
  TracedText out;
  std::string mapped;
  for_each_character(text.bytes(), [&](const Character& c) {
    mapped.clear();
    if (map(c.value, mapped)) {
      out.append(mapped, text.origin_at(c.begin));
    } else {
      out.append(text, c.begin, c.end - c.begin);
    }
    return true;
  });
  return out;
}

bool to_upper(char32_t c, std::string& out) {
  if (c == 0xdf) {
    out += "SS";
    return true;
  }
  const auto mapped = utf8proc_toupper(static_cast<utf8proc_int32_t>(c));
  if (static_cast<char32_t>(mapped) == c) return false;
  append_utf8(out, static_cast<char32_t>(mapped));
  return true;
}

bool to_title(char32_t c, std::string& out) {
  if (c == 0xdf) {
    out += "Ss";
    return true;
  }
  const auto mapped = utf8proc_totitle(static_cast<utf8proc_int32_t>(c));
  if (static_cast<char32_t>(mapped) == c) return false;
  append_utf8(out, static_cast<char32_t>(mapped));
  return true;
}

bool to_lower(char32_t c, std::string& out) {
  const auto mapped = utf8proc_tolower(static_cast<utf8proc_int32_t>(c));
  if (static_cast<char32_t>(mapped) == c) return false;
  append_utf8(out, static_cast<char32_t>(mapped));
  return true;
}

bool in_set(std::string_view text, std::optional<std::string_view> set) {
  const CodePoint c = first_code_point(text);
  if (!set.has_value()) return is_python_space(c.value);
  return set->find(text.substr(0, c.bytes)) != std::string_view::npos;
}

// As string_view::find for a text that is not empty, but in linear time for any pair of texts.
size_t find_from(std::string_view text, std::string_view what, size_t at) {
  const void* found = memmem(text.data() + at, text.size() - at, what.data(), what.size());
  return found == nullptr ? text.npos : static_cast<const char*>(found) - text.data();
}

TracedText between(const TracedText& text, size_t begin, size_t end) {
  return text.substr(begin, end - begin);
}

bool is_line_end(char32_t c) {
  return (0xa <= c && c <= 0xd) || (0x1c <= c && c <= 0x1e) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

utf8proc_category_t category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

}  // namespace

int64_t code_points(std::string_view text) {
  int64_t count = 0;
  for_each_character(text, [&](const Character&) { return ++count > 0; });
  return count;
}

SliceRange slice_range(std::optional<int64_t> start, std::optional<int64_t> stop, int64_t step,
                       int64_t length) {
  // Where an index lands: from the end when negative, and never past where a walk can begin.
  const int64_t low = step > 0 ? 0 : -1;
  const int64_t high = step > 0 ? length : length - 1;
  const auto place = [&](int64_t index) {
    if (index < 0) index = index < -length ? low : index + length;
    return std::clamp(index, low, high);
  };
  const int64_t begin = start.has_value() ? place(*start) : (step > 0 ? low : high);
  const int64_t end = stop.has_value() ? place(*stop) : (step > 0 ? high : low);
  // |step| as unsigned, so that the smallest integer has one.
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : -static_cast<uint64_t>(step);
  const int64_t distance = step > 0 ? end - begin : begin - end;
  if (distance <= 0) return {begin, step, 0};
  const auto steps = (static_cast<uint64_t>(distance) - 1) / stride;
  return {begin, step, static_cast<int64_t>(steps) + 1};
}

TracedText slice(const TracedText& text, const SliceRange& range) {
  if (range.count == 0) return TracedText();
  std::vector<size_t> begins;
  for_each_character(text.bytes(), [&](const Character& c) {
    begins.push_back(c.begin);
    return true;
  });
  begins.push_back(text.size());
  if (range.step == 1) return between(text, begins[range.begin], begins[range.begin + range.count]);
  TracedText out;
  int64_t at = range.begin;
  for (int64_t i = 0; i < range.count; ++i) {
    out.append(text, begins[at], begins[at + 1] - begins[at]);
    if (i + 1 < range.count) at += range.step;
  }
  return out;
}

std::vector<TracedText> characters(const TracedText& text) {
  std::vector<TracedText> out;
  for_each_character(text.bytes(), [&](const Character& c) {
    out.push_back(between(text, c.begin, c.end));
    return true;
  });
  return out;
}

TracedText strip(const TracedText& text, std::optional<std::string_view> set, Side side) {
  const std::string_view bytes = text.bytes();
  size_t begin = 0;
  size_t end = bytes.size();
  while (side != Side::kRight && begin < end && in_set(bytes.substr(begin), set)) {
    begin += first_code_point(bytes.substr(begin)).bytes;
  }
  while (side != Side::kLeft && begin < end) {
    const size_t last = begin + last_code_point_begin(bytes.substr(begin, end - begin));
    if (!in_set(bytes.substr(last), set)) break;
    end = last;
  }
  return between(text, begin, end);
}

std::vector<TracedText> split(const TracedText& text, std::optional<std::string_view> separator,
                              int64_t most) {
  const std::string_view bytes = text.bytes();
  std::vector<TracedText> out;
  const auto cuts_left = [&] { return most < 0 || static_cast<int64_t>(out.size()) < most; };
  size_t at = 0;
  if (separator.has_value()) {
    for (size_t found = find_from(bytes, *separator, 0); found != bytes.npos && cuts_left();
         found = find_from(bytes, *separator, at)) {
      out.push_back(between(text, at, found));
      at = found + separator->size();
    }
    out.push_back(between(text, at, bytes.size()));
    return out;
  }
  while (true) {
    at = bytes.size() - strip_left(bytes.substr(at)).size();
    if (at == bytes.size()) return out;
    if (!cuts_left()) break;
    size_t end = at;
    while (end < bytes.size() && !in_set(bytes.substr(end), std::nullopt)) {
      end += first_code_point(bytes.substr(end)).bytes;
    }
    out.push_back(between(text, at, end));
    at = end;
  }
  out.push_back(between(text, at, bytes.size()));
  return out;
}

std::vector<TracedText> split_right(const TracedText& text,
                                    std::optional<std::string_view> separator, int64_t most) {
  if (most < 0) return split(text, separator, most);
  const std::string_view bytes = text.bytes();
  std::vector<TracedText> out;
  size_t end = bytes.size();
  const auto cuts_left = [&] { return static_cast<int64_t>(out.size()) < most; };
  if (separator.has_value()) {
    while (cuts_left() && end >= separator->size()) {
      const size_t found = bytes.rfind(*separator, end - separator->size());
      if (found == bytes.npos) break;
      out.push_back(between(text, found + separator->size(), end));
      end = found;
    }
    out.push_back(between(text, 0, end));
  } else {
    while (true) {
      end = strip_right(bytes.substr(0, end)).size();
      if (end == 0) break;
      if (!cuts_left()) {
        out.push_back(between(text, 0, end));
        break;
      }
      size_t begin = end;
      while (begin > 0) {
        const size_t last = last_code_point_begin(bytes.substr(0, begin));
        if (in_set(bytes.substr(last), std::nullopt)) break;
        begin = last;
      }
      out.push_back(between(text, begin, end));
      end = begin;
    }
  }
  std::ranges::reverse(out);
  return out;
}

std::vector<TracedText> split_lines(const TracedText& text, bool keep_ends) {
  const std::string_view bytes = text.bytes();
  std::vector<TracedText> out;
  size_t line = 0;
  for_each_character(bytes, [&](const Character& c) {
    if (c.begin < line || !is_line_end(c.value)) return true;
    const bool crlf = bytes.substr(c.begin).starts_with("\r\n");
    const size_t end = crlf ? c.end + 1 : c.end;
    out.push_back(between(text, line, keep_ends ? end : c.begin));
    line = end;
    return true;
  });
  if (line < bytes.size()) out.push_back(between(text, line, bytes.size()));
  return out;
}

int64_t count_words(std::string_view text) {
  int64_t words = 0;
  bool in_word = false;
  for_each_character(text, [&](const Character& c) {
    const bool space = is_python_space(c.value);
    words += !space && !in_word ? 1 : 0;
    in_word = !space;
    return true;
  });
  return words;
}

int64_t count_lines(std::string_view text) {
  int64_t lines = 1;
  for_each_character(text, [&](const Character& c) {
    lines += is_line_end(c.value) ? 1 : 0;
    return true;
  });
  return lines;
}

int64_t count_occurrences(std::string_view text, std::string_view what) {
  if (what.empty()) return code_points(text) + 1;
  int64_t count = 0;
  for (size_t at = find_from(text, what, 0); at != text.npos;
       at = find_from(text, what, at + what.size())) {
    ++count;
  }
  return count;
}

TracedText replace(const TracedText& text, std::string_view what, const TracedText& with,
                   int64_t most) {
  const std::string_view bytes = text.bytes();
  TracedText out;
  size_t at = 0;
  while (most != 0 && at <= bytes.size()) {
    const size_t found = what.empty() ? at : find_from(bytes, what, at);
    if (found == bytes.npos) break;
    out.append(text, at, found - at);
    out.append(with);
    at = found + what.size();
    if (what.empty()) {
      if (at == bytes.size()) return out;
      const size_t next = first_code_point(bytes.substr(at)).bytes;
      out.append(text, at, next);
      at += next;
    }
    if (most > 0) --most;
  }
  out.append(text, at, bytes.size() - at);
  return out;
}

TracedText upper(const TracedText& text) { return map_characters(text, to_upper); }
TracedText lower(const TracedText& text) { return map_characters(text, to_lower); }

TracedText capitalize(const TracedText& text) {
  bool first = true;
  return map_characters(text, [&](char32_t c, std::string& out) {
    return std::exchange(first, false) ? to_title(c, out) : to_lower(c, out);
  });
}

TracedText title(const TracedText& text) {
  bool in_word = false;
  return map_characters(text, [&](char32_t c, std::string& out) {
    const bool letter = is_cased_upper(c) || is_cased_lower(c);
    const bool starts = letter && !in_word;
    in_word = letter;
    if (!letter) return false;
    return starts ? to_title(c, out) : to_lower(c, out);
  });
}

TracedText swap_case(const TracedText& text) {
  return map_characters(text, [](char32_t c, std::string& out) {
    return is_cased_upper(c) ? to_lower(c, out) : to_upper(c, out);
  });
}

bool is_letter(char32_t c) {
  const utf8proc_category_t k = category(c);
  return UTF8PROC_CATEGORY_LU <= k && k <= UTF8PROC_CATEGORY_LO;
}
bool is_digit(char32_t c) { return category(c) == UTF8PROC_CATEGORY_ND; }
bool is_numeric(char32_t c) {
  const utf8proc_category_t k = category(c);
  return UTF8PROC_CATEGORY_ND <= k && k <= UTF8PROC_CATEGORY_NO;
}
bool is_cased_upper(char32_t c) {
  return category(c) == UTF8PROC_CATEGORY_LU || category(c) == UTF8PROC_CATEGORY_LT;
}
bool is_cased_lower(char32_t c) { return category(c) == UTF8PROC_CATEGORY_LL; }

}  // namespace lockstep::text::jinja
