#include "text/token_table.h"

#include <algorithm>

#include "text/byte_alphabet.h"

namespace lockstep::text {
namespace {

using formats::TokenizerSpec;
using formats::TokenKind;

// Tokens whose text is plain and which no merge makes.
bool is_added(TokenKind kind) {
  return kind == TokenKind::kControl || kind == TokenKind::kUserDefined ||
         kind == TokenKind::kUnused;
}

Status check_entry(size_t id, const TokenizerSpec& spec, Vocabulary vocabulary) {
  const std::string& text = spec.token_texts[id];
  if (text.size() > TokenTable::kMaxTokenBytes) {
    return invalid_argument("token {} has {} bytes; at most {} are allowed", id, text.size(),
                            TokenTable::kMaxTokenBytes);
  }
  if (id >= static_cast<size_t>(vocabulary.size()) && !is_added(spec.token_kinds[id])) {
    return invalid_argument("token {} is past the model's vocabulary of {}", id, vocabulary.size());
  }
  return ok_status();
}

}  // namespace

StatusOr<TokenTable> TokenTable::create(const TokenizerSpec& spec, Vocabulary vocabulary) {
  const size_t texts = spec.token_texts.size();
  if (spec.token_kinds.size() != texts) {
    return invalid_argument("{} token kinds for {} tokens; the counts must be equal",
                            spec.token_kinds.size(), texts);
  }
  for (size_t id = 0; id < texts; ++id) {
    LOCKSTEP_RETURN_IF_ERROR(check_entry(id, spec, vocabulary));
  }
  const auto size = static_cast<size_t>(vocabulary.size());
  TokenTable table;
  table.control_.resize(size);
  table.ordinary_.resize(size);
  for (size_t id = 0; id < size; ++id) {
    LOCKSTEP_ASSIGN_OR_RETURN(const TokenId token, vocabulary.admit(static_cast<int64_t>(id)));
    table.ids_.push_back(token);
    if (id < texts) {
      const std::string& text = spec.token_texts[id];
      const TokenKind kind = spec.token_kinds[id];
      table.control_[id] = kind == TokenKind::kControl || kind == TokenKind::kUnknown;
      table.ordinary_[id] = !is_added(kind) && !text.empty();
      const std::string bytes = is_added(kind) ? text : bytes_from_alphabet(text).value_or(text);
      table.bytes_.insert(table.bytes_.end(), bytes.begin(), bytes.end());
    }
    if (table.bytes_.size() > UINT32_MAX) return invalid_argument("token texts over 4 GiB in all");
    table.ends_.push_back(static_cast<uint32_t>(table.bytes_.size()));
  }
  return table;
}

std::array<int32_t, 256> TokenTable::byte_tokens() const {
  std::array<int32_t, 256> tokens;
  tokens.fill(-1);
  for (auto id = static_cast<int32_t>(ids_.size()); id-- > 0;) {
    if (ordinary_[id] && bytes(id).size() == 1) tokens[static_cast<uint8_t>(bytes(id)[0])] = id;
  }
  return tokens;
}

TokenTable::ByBytes TokenTable::ordinary_by_bytes() const {
  ByBytes words;
  for (int32_t id = 0; id < static_cast<int32_t>(ids_.size()); ++id) {
    if (ordinary_[id]) words.emplace(bytes(id), id);
  }
  return words;
}

}  // namespace lockstep::text
