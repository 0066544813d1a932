// Oniguruma's spelling to PCRE2's (https://github.com/kkos/oniguruma/blob/master/doc/RE). Both run
// over Unicode properties; they differ in the version of Unicode (unicode_additions.h), in \s
// (PCRE2 has U+180E) and \w (PCRE2 lacks marks), in script names (PCRE2 takes extensions in), and
// in classes, where Oniguruma has nesting and intersection.
#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "text/regex.h"
#include "text/unicode_additions.h"

namespace lockstep::text {
namespace {

constexpr std::string_view kSpaceSet =
    "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}"
    "\\x{205f}\\x{3000}";
// With the Latin-1 numbers that Oniguruma's \w has.
constexpr std::string_view kWordSet =
    "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{b2}\\x{b3}\\x{b9}\\x{bc}-\\x{be}";

const std::string& word_set() {
  static const std::string set = fmt::format("{}{}{}{}", kWordSet, unicode_additions("L"),
                                             unicode_additions("M"), unicode_additions("Nd"));
  return set;
}

std::string digit_set() { return "\\p{Nd}" + unicode_additions("Nd"); }
constexpr std::string_view kGroupOpenings[] = {
    "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:", "(?i)"};

bool is_hex(char c) {
  return ('0' <= c && c <= '9') || ('a' <= c && c <= 'f') || ('A' <= c && c <= 'F');
}

class Translator {
 public:
  explicit Translator(std::string_view pattern) : rest_(pattern) {}

  StatusOr<std::string> run() {
    while (!rest_.empty()) {
      begin_item();
      if (rest_[0] == '\\') {
        LOCKSTEP_RETURN_IF_ERROR(escape(/*in_class=*/false));
      } else if (rest_[0] == '[') {
        LOCKSTEP_RETURN_IF_ERROR(char_class());
      } else if (rest_[0] == '(') {
        LOCKSTEP_RETURN_IF_ERROR(group());
      } else if (rest_[0] == '^') {  // of any line, as $ is
        replace(1, "(?:\\A|(?<=\\n)(?!\\z))");
      } else if (rest_[0] == '$') {
        replace(1, "(?=\\n|\\z)");
      } else if (rest_[0] == '{') {
        LOCKSTEP_RETURN_IF_ERROR(counts());
      } else {
        copy(1);
      }
    }
    return std::move(out_);
  }

 private:
  void copy(size_t bytes) {
    out_ += rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
  }
  void replace(size_t bytes, std::string_view with) {
    out_ += with;
    rest_.remove_prefix(bytes);
  }

  // Remembers where in out_ the item begins that a count would repeat.
  void begin_item() {
    const char c = rest_[0];
    const bool goes_on = (static_cast<unsigned char>(c) & 0xc0) == 0x80;  // of a UTF-8 character
    if (goes_on || c == '*' || c == '+' || c == '?' || c == '{') return;
    item_ = out_.size();
    if (c == '(') open_groups_.push_back(item_);
    if (c == ')' && !open_groups_.empty()) {
      item_ = open_groups_.back();
      open_groups_.pop_back();
    }
  }

  Status group() {
    if (rest_.size() < 2 || (rest_[1] != '?' && rest_[1] != '*')) {
      copy(1);
      return ok_status();
    }
    for (const std::string_view opening : kGroupOpenings) {
      if (rest_.starts_with(opening)) {
        copy(opening.size());
        return ok_status();
      }
    }
    return invalid_argument(
        "group {}; allowed are plain groups, (?:, (?=, (?!, (?<=, (?<!, (?>, (?i: and (?i)",
        quote_text(rest_.substr(0, 4)));
  }

  // {n}, {n,}, {,m} or {n,m}; anything else in braces is itself.
  Status counts() {
    const size_t end = rest_.find('}');
    const std::string_view inside = end == rest_.npos ? "" : rest_.substr(1, end - 1);
    const size_t odd = inside.find_first_not_of("0123456789,");
    if (inside.empty() || odd != inside.npos) {
      copy(1);
      return ok_status();
    }
    const char next = end + 1 < rest_.size() ? rest_[end + 1] : '\0';
    if (next == '?') {
      return invalid_argument("{} repeats a count; put the first into a group",
                              quote_text(rest_.substr(0, end + 2)));
    }
    replace(1, inside.starts_with(',') ? "{0" : "{");
    copy(end);
    if (next == '+') {  // repeats what is counted; to PCRE2 it would forbid giving back
      out_.insert(item_, "(?:");
      out_ += ')';
    }
    return ok_status();
  }

  Status char_class() {
    const size_t opening = rest_.starts_with("[^") ? 2 : 1;
    copy(opening);
    bool first = true;  // where ']' would be a member, to PCRE2 but not to every engine
    while (!rest_.empty() && rest_[0] != ']') {
      if (rest_[0] == '[' || rest_.starts_with("&&")) {
        return invalid_argument("nested class or intersection at {}; write the class out",
                                quote_text(rest_.substr(0, 8)));
      }
      if (rest_[0] == '\\') {
        LOCKSTEP_RETURN_IF_ERROR(escape(/*in_class=*/true));
      } else {
        copy(1);
      }
      first = false;
    }
    if (rest_.empty()) return invalid_argument("a class without its ]");
    if (first) return invalid_argument("an empty class");
    copy(1);
    return ok_status();
  }

  Status escape(bool in_class) {
    const char c = rest_.size() > 1 ? rest_[1] : '\0';
    const auto set = [&](std::string_view members) {
      replace(2, in_class ? std::string(members) : fmt::format("[{}]", members));
      return ok_status();
    };
    const auto outside = [&](std::string_view members) {
      replace(2, fmt::format("[^{}]", members));
      return ok_status();
    };
    switch (c) {
      case 's':
        return set(kSpaceSet);
      case 'S':
        return in_class ? set("\\S\\x{180e}") : outside(kSpaceSet);
      case 'w':
        return set(word_set());
      case 'W':
        if (!in_class) return outside(word_set());
        break;
      case 'd':
        return set(digit_set());
      case 'D':
        if (!in_class) return outside(digit_set());
        break;
      case 'p':
      case 'P':
        return property(in_class);
      case 'x':
      case 'u':
        return code_point();
      case 'r':
      case 'n':
      case 't':
      case 'f':
      case 'v':
        replace(2, c == 'v' ? "\\x{b}" : rest_.substr(0, 2));
        return ok_status();
      case 'A':
      case 'z':
        if (!in_class) {
          copy(2);
          return ok_status();
        }
        break;
      default:
        if (' ' < c && c <= '~' && !std::isalnum(static_cast<unsigned char>(c))) {
          copy(2);
          return ok_status();
        }
    }
    return invalid_argument(
        "escape {}{}; allowed are \\s \\S \\w \\W \\d \\D \\p \\P \\x \\u \\r "
        "\\n \\t \\f \\v \\A \\z and punctuation",
        quote_text(rest_.substr(0, 2)), in_class ? " in a class" : "");
  }

  // \p{L}, \P{L}, \p{^L}, \pL, \p{Han}
  Status property(bool in_class) {
    const bool braces = rest_.size() > 2 && rest_[2] == '{';
    const size_t end = braces ? rest_.find('}') : size_t{3};
    if (end > rest_.size()) return invalid_argument("a property without its name");
    std::string_view name = rest_.substr(braces ? 3 : 2, end - (braces ? 3 : 2));
    bool negated = rest_[1] == 'P';
    if (name.starts_with('^')) {
      negated = !negated;
      name.remove_prefix(1);
    }
    const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
    if (name.empty() || !std::ranges::all_of(name, is_letter)) {
      return invalid_argument("property {}; expected letters", quote_text(name));
    }
    if (name == "C" || name == "Cn") {
      return invalid_argument("property {}: what is unassigned depends on the version of Unicode",
                              quote_text(name));
    }
    // PCRE2 refuses names that it does not know.
    const std::string_view script = name.size() > 2 ? "sc:" : "";
    const std::string members = fmt::format("\\p{{{}{}}}{}", script, name, unicode_additions(name));
    rest_.remove_prefix(end + (braces ? 1 : 0));
    if (negated && in_class) {
      return invalid_argument("a negated property in a class; write the class out");
    }
    out_ += in_class ? members : fmt::format("[{}{}]", negated ? "^" : "", members);
    return ok_status();
  }

  // \xHH, \x{H...}, \uHHHH
  Status code_point() {
    const bool braces = rest_[1] == 'x' && rest_.size() > 2 && rest_[2] == '{';
    const size_t begin = braces ? 3 : 2;
    const size_t most = braces ? 6 : rest_[1] == 'x' ? 2 : 4;
    size_t end = begin;
    while (end < rest_.size() && end - begin < most && is_hex(rest_[end])) ++end;
    const bool closed = !braces || (end < rest_.size() && rest_[end] == '}');
    if (end == begin || !closed || (rest_[1] == 'u' && end - begin != 4)) {
      return invalid_argument("code point {}; expected \\xHH, \\x{{H...}} or \\uHHHH",
                              quote_text(rest_.substr(0, 8)));
    }
    const std::string digits(rest_.substr(begin, end - begin));
    replace(end + (braces ? 1 : 0), fmt::format("\\x{{{}}}", digits));
    return ok_status();
  }

  std::string_view rest_;
  std::string out_;
  size_t item_ = 0;
  std::vector<size_t> open_groups_;
};

}  // namespace

StatusOr<std::string> pcre2_from_oniguruma(std::string_view pattern) {
  return Translator(pattern).run();
}

}  // namespace lockstep::text
