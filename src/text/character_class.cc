#include "text/character_class.h"

#include <utf8proc.h>

#include <algorithm>

#include "text/utf8.h"

namespace lockstep::text {

bool is_space(char32_t c) {
  return (0x9 <= c && c <= 0xd) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (0x2000 <= c && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

bool is_word_character(char32_t c) {
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  const bool is_joiner = c == 0x200c || c == 0x200d;
  const bool is_lettered_symbol = (0x24b6 <= c && c <= 0x24e9) || (0x1f130 <= c && c <= 0x1f149) ||
                                  (0x1f150 <= c && c <= 0x1f169) || (0x1f170 <= c && c <= 0x1f189);
  return (UTF8PROC_CATEGORY_LU <= category && category <= UTF8PROC_CATEGORY_ME) ||
         category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL ||
         category == UTF8PROC_CATEGORY_PC || is_joiner || is_lettered_symbol;
}

size_t skip_spaces_left(std::string_view text, size_t at, size_t stop) {
  while (at > stop) {
    const size_t before = last_code_point_begin(text.substr(0, at));
    if (!is_space(first_code_point(text.substr(before)).value)) break;
    at = before;
  }
  return std::max(at, stop);
}

size_t skip_spaces_right(std::string_view text, size_t at) {
  while (at < text.size()) {
    const CodePoint c = first_code_point(text.substr(at));
    if (!is_space(c.value)) break;
    at += c.bytes;
  }
  return at;
}

}  // namespace lockstep::text
