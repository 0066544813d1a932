#include "text/token_table.h"

#include <algorithm>
#include <string>

#include "base/text.h"
#include "text/byte_alphabet.h"
#include "text/byte_tokens.h"
#include "text/text_replace.h"

namespace lockstep::text {
namespace {

using formats::DecoderStep;
using formats::TokenizerSpec;
using formats::TokenKind;

Status check_entry(size_t id, const TokenizerSpec& spec, Vocabulary vocabulary) {
  const std::string& text = spec.token_texts[id];
  if (text.size() > TokenTable::kMaxTokenBytes) {
    return invalid_argument("token {} has {} bytes; at most {} are allowed", id, text.size(),
                            TokenTable::kMaxTokenBytes);
  }
  const TokenKind kind = spec.token_kinds[id];
  const bool may_be_dropped =
      kind == TokenKind::kControl || kind == TokenKind::kUserDefined || kind == TokenKind::kUnused;
  if (id >= static_cast<size_t>(vocabulary.size()) && !may_be_dropped) {
    return invalid_argument("token {} is past the model's vocabulary of {}", id, vocabulary.size());
  }
  return ok_status();
}

Status check_decoder(const TokenizerSpec& spec) {
  for (const DecoderStep& step : spec.decoder) {
    if (step.kind == DecoderStep::Kind::kStripFirst && step.pattern != " ") {
      return unimplemented("decoding strips {} at the front; supported: a space",
                           quote_text(step.pattern));
    }
  }
  return ok_status();
}

// What the steps that look at one token at a time make of its text.
StatusOr<std::string> decoded(std::string text, const std::vector<DecoderStep>& steps) {
  for (const DecoderStep& step : steps) {
    switch (step.kind) {
      case DecoderStep::Kind::kByteAlphabet:
        text = bytes_from_alphabet(text).value_or(text);
        break;
      case DecoderStep::Kind::kByteFallback:
        if (const auto byte = byte_of_fallback_text(text)) text = static_cast<char>(*byte);
        break;
      case DecoderStep::Kind::kReplace: {
        LOCKSTEP_ASSIGN_OR_RETURN(
            text, replace_all(text, step.pattern, step.text, TokenTable::kMaxTokenBytes));
        break;
      }
      case DecoderStep::Kind::kMetaspace: {
        LOCKSTEP_ASSIGN_OR_RETURN(text,
                                  replace_all(text, step.pattern, " ", TokenTable::kMaxTokenBytes));
        break;
      }
      case DecoderStep::Kind::kStripFirst:
        break;
    }
  }
  return text;
}

}  // namespace

Status TokenTable::check(const TokenizerSpec& spec, Vocabulary vocabulary) {
  const size_t texts = spec.token_texts.size();
  if (spec.token_kinds.size() != texts) {
    return invalid_argument("{} token kinds for {} tokens; the counts must be equal",
                            spec.token_kinds.size(), texts);
  }
  for (size_t id = 0; id < texts; ++id) {
    LOCKSTEP_RETURN_IF_ERROR(check_entry(id, spec, vocabulary));
  }
  return ok_status();
}

StatusOr<TokenTable> TokenTable::create(const TokenizerSpec& spec, Vocabulary vocabulary) {
  LOCKSTEP_RETURN_IF_ERROR(check(spec, vocabulary));
  LOCKSTEP_RETURN_IF_ERROR(check_decoder(spec));
  const size_t texts = spec.token_texts.size();
  const auto size = static_cast<size_t>(vocabulary.size());
  TokenTable table;
  table.control_.resize(size);
  const auto metaspace =
      std::ranges::find(spec.decoder, DecoderStep::Kind::kMetaspace, &DecoderStep::kind);
  if (metaspace != spec.decoder.end() && metaspace->count > 0) table.marked_.resize(size);
  for (const DecoderStep& step : spec.decoder) {
    if (step.kind == DecoderStep::Kind::kStripFirst) table.stripped_ += step.count;
  }
  for (size_t id = 0; id < size; ++id) {
    LOCKSTEP_ASSIGN_OR_RETURN(const TokenId token, vocabulary.admit(static_cast<int64_t>(id)));
    table.ids_.push_back(token);
    if (id < texts) {
      const TokenKind kind = spec.token_kinds[id];
      table.control_[id] = kind == TokenKind::kControl || kind == TokenKind::kUnknown;
      if (!table.marked_.empty()) {
        table.marked_[id] = spec.token_texts[id].find(metaspace->pattern) != std::string::npos;
      }
      auto bytes = decoded(spec.token_texts[id], spec.decoder);
      if (!bytes.ok()) return annotate(bytes.status(), fmt::format("decoding token {}", id));
      table.bytes_.insert(table.bytes_.end(), bytes->begin(), bytes->end());
    }
    if (table.bytes_.size() > kMaxTableBytes) {
      return invalid_argument("decoded token texts have more than {} bytes in all", kMaxTableBytes);
    }
    table.ends_.push_back(static_cast<uint32_t>(table.bytes_.size()));
  }
  return table;
}

}  // namespace lockstep::text
