// How values are spelled: Python's str and repr, and JSON.
#include <algorithm>
#include <cmath>

#include "text/jinja/value.h"
#include "text/utf8.h"

namespace lockstep::text::jinja {
namespace {

// Shortest digits that read back as the same number, as Python writes them.
std::string real_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == text.npos) text += ".0";
  return text;
}

void add(TracedText& out, std::string_view text) { out.append(text, Origin::kTemplate); }

// Code points that repr writes as escapes.
bool needs_escape(char32_t c, char quote) {
  return c < 0x20 || c == 0x7f || c == '\\' || c == static_cast<unsigned char>(quote) ||
         (0x80 <= c && c <= 0xa0) || c == 0xad || (0x2000 <= c && c <= 0x200f) ||
         (0x2028 <= c && c <= 0x202f) || (0x205f <= c && c <= 0x206f) || c == 0x3000 || c == 0xfeff;
}

std::string repr_escape(char32_t c) {
  switch (c) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '\\':
    case '\'':
      return {'\\', static_cast<char>(c)};
    default:
      if (c < 0x100) return fmt::format("\\x{:02x}", static_cast<uint32_t>(c));
      return fmt::format("\\u{:04x}", static_cast<uint32_t>(c));
  }
}

std::string json_escape(char32_t c) {
  constexpr std::string_view kFrom = "\"\\\n\r\t\b\f";
  constexpr std::string_view kTo = "\"\\nrtbf";
  if (c < 0x80) {
    if (const size_t at = kFrom.find(static_cast<char>(c)); at != kFrom.npos) {
      return {'\\', kTo[at]};
    }
  }
  if (c < 0x10000) return fmt::format("\\u{:04x}", static_cast<uint32_t>(c));
  const uint32_t rest = static_cast<uint32_t>(c) - 0x10000;
  return fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + (rest >> 10), 0xdc00 + (rest & 0x3ff));
}

// The text with some characters escaped; an escape has its character's origin.
template <class NeedsEscape, class Escape>
void add_escaped(TracedText& out, const TracedText& text, const NeedsEscape& needs,
                 const Escape& escape) {
  const std::string_view bytes = text.bytes();
  size_t plain = 0;
  for (size_t at = 0; at < bytes.size();) {
    const CodePoint c = first_code_point(bytes.substr(at));
    if (needs(c.value)) {
      out.append(text, plain, at - plain);
      out.append(escape(c.value), text.origin_at(at));
      plain = at + c.bytes;
    }
    at += c.bytes;
  }
  out.append(text, plain, bytes.size() - plain);
}

void add_repr(TracedText& out, const Value& value);

void add_quoted(TracedText& out, const TracedText& text) {
  const bool single = text.bytes().find('\'') != std::string::npos;
  const bool both = single && text.bytes().find('"') != std::string::npos;
  const char quote = single && !both ? '"' : '\'';
  add(out, {&quote, 1});
  add_escaped(
      out, text, [&](char32_t c) { return needs_escape(c, quote); }, repr_escape);
  add(out, {&quote, 1});
}

void add_sequence(TracedText& out, const Sequence& sequence) {
  const bool tuple = sequence.is_tuple();
  add(out, tuple ? "(" : "[");
  for (size_t i = 0; i < sequence.items.size(); ++i) {
    if (i > 0) add(out, ", ");
    add_repr(out, sequence.items[i]);
  }
  add(out, tuple ? (sequence.items.size() == 1 ? ",)" : ")") : "]");
}

void add_repr(TracedText& out, const Value& value) {
  if (value.is_undefined()) return add(out, "Undefined");
  if (value.is_none()) return add(out, "None");
  if (const bool* boolean = value.if_bool()) return add(out, *boolean ? "True" : "False");
  if (const int64_t* integer = value.if_integer()) return add(out, fmt::format("{}", *integer));
  if (const double* real = value.if_real()) return add(out, real_text(*real));
  if (const TracedText* text = value.if_text()) return add_quoted(out, *text);
  if (const Sequence* sequence = value.if_sequence()) return add_sequence(out, *sequence);
  if (const Dict* dict = value.if_dict()) {
    add(out, "{");
    for (size_t i = 0; i < dict->entries.size(); ++i) {
      if (i > 0) add(out, ", ");
      add_repr(out, dict->entries[i].first);
      add(out, ": ");
      add_repr(out, dict->entries[i].second);
    }
    return add(out, "}");
  }
  add(out, fmt::format("<{}>", value.kind()));
}

class JsonWriter {
 public:
  explicit JsonWriter(const JsonStyle& style) : style_(style) {}

  Status value(const Value& v, int level) {
    if (v.is_none()) return literal("null");
    if (const bool* boolean = v.if_bool()) return literal(*boolean ? "true" : "false");
    if (const double* real = v.if_real()) return literal(real_of(*real));
    if (const int64_t* integer = v.if_integer()) return literal(fmt::format("{}", *integer));
    if (const TracedText* text = v.if_text()) return string(*text);
    if (const Dict* dict = v.if_dict()) return object(*dict, level);
    const Sequence* sequence = v.if_sequence();
    if (sequence != nullptr && (sequence->kind == SequenceKind::kList || sequence->is_tuple())) {
      return array(*sequence, level);
    }
    return invalid_argument("{} cannot be written as JSON", v.kind());
  }

  TracedText take() { return std::move(out_); }

 private:
  Status literal(std::string_view text) {
    add(out_, text);
    return ok_status();
  }

  static std::string real_of(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
    return real_text(value);
  }

  Status string(const TracedText& text) {
    add(out_, "\"");
    const auto needs = [&](char32_t c) {
      return c < 0x20 || c == '"' || c == '\\' || (style_.ascii_only && c >= 0x7f);
    };
    add_escaped(out_, text, needs, json_escape);
    return literal("\"");
  }

  // Between members, and inside of the brackets when the style indents.
  void separate(bool first, int level) {
    if (!first) out_.append(style_.item_separator);
    if (!style_.indent.has_value()) return;
    add(out_, "\n");
    add(out_, std::string(static_cast<size_t>(*style_.indent) * level, ' '));
  }

  Status array(const Sequence& sequence, int level) {
    if (sequence.items.empty()) return literal("[]");
    add(out_, "[");
    for (size_t i = 0; i < sequence.items.size(); ++i) {
      separate(i == 0, level + 1);
      LOCKSTEP_RETURN_IF_ERROR(value(sequence.items[i], level + 1));
    }
    separate(/*first=*/true, level);
    return literal("]");
  }

  Status object(const Dict& dict, int level) {
    if (dict.entries.empty()) return literal("{}");
    std::vector<const std::pair<Value, Value>*> entries;
    entries.reserve(dict.entries.size());
    for (const auto& entry : dict.entries) entries.push_back(&entry);
    if (style_.sort_keys) {
      Status status;
      std::ranges::stable_sort(entries, [&](const auto* a, const auto* b) {
        const StatusOr<bool> before = less(a->first, b->first);
        if (!before.ok()) status = before.status();
        return before.value_or(false);
      });
      LOCKSTEP_RETURN_IF_ERROR(status);
    }
    add(out_, "{");
    for (size_t i = 0; i < entries.size(); ++i) {
      separate(i == 0, level + 1);
      LOCKSTEP_RETURN_IF_ERROR(key(entries[i]->first));
      out_.append(style_.key_separator);
      LOCKSTEP_RETURN_IF_ERROR(value(entries[i]->second, level + 1));
    }
    separate(/*first=*/true, level);
    return literal("}");
  }

  // Keys that are not strings are written as strings.
  Status key(const Value& k) {
    if (const TracedText* text = k.if_text()) return string(*text);
    add(out_, "\"");
    LOCKSTEP_RETURN_IF_ERROR(value(k, 0));
    return literal("\"");
  }

  const JsonStyle& style_;
  TracedText out_;
};

}  // namespace

TracedText to_text(const Value& value) {
  if (value.is_undefined()) return TracedText();
  if (const TracedText* text = value.if_text()) return *text;
  return to_repr(value);
}

TracedText to_repr(const Value& value) {
  TracedText out;
  add_repr(out, value);
  return out;
}

StatusOr<TracedText> to_json(const Value& value, const JsonStyle& style) {
  JsonWriter writer(style);
  LOCKSTEP_RETURN_IF_ERROR(writer.value(value, 0));
  return writer.take();
}

}  // namespace lockstep::text::jinja
