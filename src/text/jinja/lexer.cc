#include "text/jinja/lexer.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "text/utf8.h"

namespace lockstep::text::jinja {
namespace {

constexpr std::string_view kOperators[] = {"//", "**", "==", "!=", "<=", ">=", "+", "-", "/",
                                           "*",  "%",  "[",  "]",  "(",  ")",  "{", "}", ">",
                                           "<",  "=",  ".",  ":",  "|",  ",",  "~", ";"};

bool is_digit(char c) { return '0' <= c && c <= '9'; }
bool is_name_start(char c) { return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || c == '_'; }
bool is_name_part(char c) { return is_name_start(c) || is_digit(c); }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return 'a' <= lower && lower <= 'f' ? lower - 'a' + 10 : -1;
}

std::string with_plain_newlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      out += source[i];
    }
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

// Python's escapes of string literals.
class Unescaper {
 public:
  Unescaper(std::string_view body, int line) : rest_(body), line_(line) {}

  StatusOr<std::string> run() {
    while (!rest_.empty()) {
      if (rest_[0] != '\\' || rest_.size() == 1) {
        out_ += rest_[0];
        rest_.remove_prefix(1);
        continue;
      }
      const char c = rest_[1];
      rest_.remove_prefix(2);
      LOCKSTEP_RETURN_IF_ERROR(one(c));
    }
    return std::move(out_);
  }

 private:
  Status one(char c) {
    constexpr std::string_view kFrom = "\\'\"abfnrtv";
    constexpr std::string_view kTo = "\\'\"\a\b\f\n\r\t\v";
    if (const size_t at = kFrom.find(c); at != kFrom.npos) {
      out_ += kTo[at];
    } else if (c == 'x') {
      return code_point(2, 2, 16);
    } else if (c == 'u') {
      return code_point(4, 4, 16);
    } else if (c == 'U') {
      return code_point(8, 8, 16);
    } else if ('0' <= c && c <= '7') {
      rest_ = std::string_view(rest_.data() - 1, rest_.size() + 1);
      return code_point(1, 3, 8);
    } else if (c == 'N') {
      return invalid_argument("line {}: escapes by character name are not supported", line_);
    } else if (c != '\n') {  // a backslash before a newline joins the lines
      out_ += '\\';
      out_ += c;
    }
    return ok_status();
  }

  Status code_point(size_t least, size_t most, int base) {
    char32_t value = 0;
    size_t digits = 0;
    while (digits < std::min(most, rest_.size())) {
      const int digit = hex_digit(rest_[digits]);
      if (digit < 0 || digit >= base) break;
      value = value * static_cast<char32_t>(base) + static_cast<char32_t>(digit);
      ++digits;
    }
    if (digits < least || value > 0x10ffff || (0xd800 <= value && value <= 0xdfff)) {
      return invalid_argument("line {}: an escape in a string is not a character", line_);
    }
    rest_.remove_prefix(digits);
    append_utf8(out_, value);
    return ok_status();
  }

  std::string_view rest_;
  int line_;
  std::string out_;
};

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  StatusOr<std::vector<Token>> run() {
    while (at_ < source_.size()) LOCKSTEP_RETURN_IF_ERROR(text_and_tag());
    add(TokenType::kEnd, "");
    return std::move(tokens_);
  }

 private:
  std::string_view rest() const { return source_.substr(at_); }
  bool looking_at(std::string_view text) const { return rest().starts_with(text); }

  void advance(size_t bytes) {
    const std::string_view passed = source_.substr(at_, bytes);
    line_ += static_cast<int>(std::ranges::count(passed, '\n'));
    at_ += bytes;
    if (!passed.empty()) line_starting_ = passed.back() == '\n';
  }
  void add(TokenType type, std::string_view text) {
    tokens_.push_back({type, std::string(text), line_});
  }
  void skip_spaces() { advance(rest().size() - strip_left(rest()).size()); }
  Status error(std::string_view what) const { return invalid_argument("line {}: {}", line_, what); }

  // '+' or '-' right after a tag's opening; '\0' for none.
  char sign_at(size_t at) const {
    const bool signed_tag = at < source_.size() && (source_[at] == '-' || source_[at] == '+');
    return signed_tag ? source_[at] : '\0';
  }

  // Text up to `end`, where a tag begins with the given sign.
  void add_text(size_t end, char sign, bool is_variable) {
    std::string_view text = source_.substr(at_, end - at_);
    if (sign == '-') {
      text = strip_right(text);
    } else if (sign == '\0' && !is_variable) {
      const size_t line_begin = text.rfind('\n') + 1;  // npos + 1 == 0
      const bool from_line_start = line_begin > 0 || line_starting_;
      if (from_line_start && strip_left(text.substr(line_begin)).empty()) {
        text = text.substr(0, line_begin);
      }
    }
    if (!text.empty()) add(TokenType::kText, text);
    advance(end - at_);
  }

  Status text_and_tag() {
    size_t tag = at_;
    const auto opens = [&](size_t i) {
      const char next = i + 1 < source_.size() ? source_[i + 1] : '\0';
      return source_[i] == '{' && (next == '{' || next == '%' || next == '#');
    };
    while (tag < source_.size() && !opens(tag)) ++tag;
    if (tag == source_.size()) {
      add(TokenType::kText, rest());
      advance(rest().size());
      return ok_status();
    }
    const char kind = source_[tag + 1];
    const char sign = sign_at(tag + 2);
    add_text(tag, sign, kind == '{');
    if (kind == '#') return comment();
    if (kind == '%') {
      if (const auto raw = raw_opening()) return raw_block(*raw);
    }
    const bool is_block = kind == '%';
    add(is_block ? TokenType::kBlockBegin : TokenType::kVariableBegin, "");
    advance(sign == '\0' ? 2 : 3);
    return inside(is_block);
  }

  // Moves behind a tag's closing "%}" or "#}", which may be signed, and what goes with it.
  void pass_closing(char sign, size_t bytes) {
    advance(bytes);
    if (sign == '-') {
      skip_spaces();
    } else if (sign != '+' && looking_at("\n")) {
      advance(1);
    }
  }

  Status comment() {
    const size_t body = at_ + (sign_at(at_ + 2) == '\0' ? 2 : 3);
    const size_t close = source_.find("#}", body);
    if (close == source_.npos) return error("a comment without its end");
    const char before = source_[close - 1];
    const bool is_signed = close > body && (before == '-' || before == '+');
    advance(close - at_);
    pass_closing(is_signed ? before : '\0', 2);
    return ok_status();
  }

  // Bytes of "{% raw %}" at the current position.
  std::optional<size_t> raw_opening() const { return named_tag(at_, "raw").bytes; }

  struct NamedTag {
    std::optional<size_t> bytes;  // bytes of the whole tag; none where it is another tag
    char closing_sign = '\0';
  };
  // "{%", a sign, the name alone, a sign, "%}".
  NamedTag named_tag(size_t begin, std::string_view name) const {
    std::string_view tag = source_.substr(begin + 2);
    if (sign_at(begin + 2) != '\0') tag.remove_prefix(1);
    tag = strip_left(tag);
    if (!tag.starts_with(name)) return {};
    tag = strip_left(tag.substr(name.size()));
    char sign = '\0';
    if (tag.starts_with('-') || tag.starts_with('+')) {
      sign = tag[0];
      tag.remove_prefix(1);
    }
    if (!tag.starts_with("%}")) return {};
    return {static_cast<size_t>(tag.data() + 2 - source_.data()) - begin, sign};
  }

  Status raw_block(size_t opening_bytes) {
    const char opening_sign = named_tag(at_, "raw").closing_sign;
    advance(opening_bytes);
    if (opening_sign == '-') skip_spaces();
    for (size_t tag = source_.find("{%", at_); tag != source_.npos;
         tag = source_.find("{%", tag + 2)) {
      const NamedTag end = named_tag(tag, "endraw");
      if (!end.bytes.has_value()) continue;
      add_text(tag, sign_at(tag + 2), /*is_variable=*/false);
      pass_closing(end.closing_sign, *end.bytes);
      return ok_status();
    }
    return error("a raw block without its end");
  }

  Status inside(bool is_block) {
    const std::string_view closing = is_block ? "%}" : "}}";
    std::string open_brackets;
    while (at_ < source_.size()) {
      skip_spaces();
      if (open_brackets.empty()) {
        const bool minus = looking_at("-") && rest().substr(1).starts_with(closing);
        const bool plus = is_block && looking_at("+%}");
        if (minus || plus || looking_at(closing)) {
          add(is_block ? TokenType::kBlockEnd : TokenType::kVariableEnd, "");
          const char sign = minus ? '-' : plus ? '+' : '\0';
          if (is_block) {
            pass_closing(sign, sign == '\0' ? 2 : 3);
          } else {
            advance(minus ? 3 : 2);
            if (minus) skip_spaces();
          }
          return ok_status();
        }
      }
      if (at_ < source_.size()) LOCKSTEP_RETURN_IF_ERROR(token(open_brackets));
    }
    return error("a tag without its end");
  }

  Status token(std::string& open_brackets) {
    const char c = source_[at_];
    if (is_digit(c)) return number();
    if (is_name_start(c)) {
      size_t end = at_;
      while (end < source_.size() && is_name_part(source_[end])) ++end;
      add(TokenType::kName, source_.substr(at_, end - at_));
      advance(end - at_);
      return ok_status();
    }
    if (c == '\'' || c == '"') return string(c);
    for (const std::string_view op : kOperators) {
      if (!looking_at(op)) continue;
      LOCKSTEP_RETURN_IF_ERROR(balance(c, open_brackets));
      add(TokenType::kOperator, op);
      advance(op.size());
      return ok_status();
    }
    return error("unexpected character " +
                 quote_text(rest().substr(0, first_code_point(rest()).bytes)));
  }

  Status balance(char c, std::string& open_brackets) const {
    constexpr std::string_view kOpening = "([{";
    constexpr std::string_view kClosing = ")]}";
    if (const size_t i = kOpening.find(c); i != kOpening.npos) {
      open_brackets += kClosing[i];
    } else if (kClosing.find(c) != kClosing.npos) {
      if (open_brackets.empty() || open_brackets.back() != c) {
        return error(fmt::format("unexpected '{}'", c));
      }
      open_brackets.pop_back();
    }
    return ok_status();
  }

  Status string(char quote) {
    size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) return error("a string without its end");
    const std::string_view body = source_.substr(at_ + 1, end - at_ - 1);
    LOCKSTEP_ASSIGN_OR_RETURN(const std::string text, Unescaper(body, line_).run());
    add(TokenType::kString, text);
    advance(end + 1 - at_);
    return ok_status();
  }

  // Digits, single underscores between them left out.
  std::string digits(size_t& at) const {
    std::string out;
    while (at < source_.size() &&
           (is_digit(source_[at]) || (source_[at] == '_' && !out.empty() &&
                                      at + 1 < source_.size() && is_digit(source_[at + 1])))) {
      if (source_[at] != '_') out += source_[at];
      ++at;
    }
    return out;
  }

  Status number() {
    size_t end = at_;
    std::string text = digits(end);
    TokenType type = TokenType::kInteger;
    // After a dot an integer is a member's number: in x.0.1 there is no 0.1.
    const bool after_dot = at_ > 0 && source_[at_ - 1] == '.';
    const auto digit_at = [&](size_t i) { return i < source_.size() && is_digit(source_[i]); };
    if (!after_dot && end < source_.size() && source_[end] == '.' && digit_at(end + 1)) {
      text += '.';
      text += digits(++end);
      type = TokenType::kFloat;
    }
    if (!after_dot && end < source_.size() && (source_[end] | 0x20) == 'e') {
      size_t exponent = end + 1;
      const char sign = sign_at(exponent);
      if (sign != '\0') ++exponent;
      if (digit_at(exponent)) {
        text += 'e';
        if (sign == '-') text += '-';
        text += digits(exponent);
        end = exponent;
        type = TokenType::kFloat;
      }
    }
    if (type == TokenType::kInteger && text.size() > 1 && text[0] == '0' &&
        text.find_first_not_of('0') != text.npos) {
      return error("an integer that begins with 0");
    }
    add(type, text);
    advance(end - at_);
    return ok_status();
  }

  std::string_view source_;
  size_t at_ = 0;
  int line_ = 1;
  bool line_starting_ = true;  // what was passed last ended a line
  std::vector<Token> tokens_;
};

}  // namespace

bool is_python_space(char32_t c) {
  return (0x9 <= c && c <= 0xd) || (0x1c <= c && c <= 0x20) || c == 0x85 || c == 0xa0 ||
         c == 0x1680 || (0x2000 <= c && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
         c == 0x205f || c == 0x3000;
}

std::string_view strip_left(std::string_view text) {
  while (!text.empty()) {
    const CodePoint c = first_code_point(text);
    if (!is_python_space(c.value)) break;
    text.remove_prefix(c.bytes);
  }
  return text;
}

std::string_view strip_right(std::string_view text) {
  while (!text.empty()) {
    const size_t last = last_code_point_begin(text);
    if (!is_python_space(first_code_point(text.substr(last)).value)) break;
    text = text.substr(0, last);
  }
  return text;
}

StatusOr<std::vector<Token>> tokenize(std::string_view source) {
  const std::string plain = with_plain_newlines(source);
  return Lexer(plain).run();
}

}  // namespace lockstep::text::jinja
