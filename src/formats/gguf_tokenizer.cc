#include "formats/gguf_tokenizer.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <functional>
#include <string_view>

#include "base/hash.h"
#include "base/text.h"
#include "base/vocabulary.h"
#include "formats/pre_tokenizers.h"

namespace lockstep::formats {
namespace {

constexpr size_t kMaxTokenBytes = 4096;
constexpr size_t kMaxMerges = size_t{1} << 22;
constexpr std::string_view kModelKey = "tokenizer.ggml.model";
constexpr std::string_view kTokensKey = "tokenizer.ggml.tokens";
constexpr std::string_view kTypesKey = "tokenizer.ggml.token_type";
constexpr std::string_view kScoresKey = "tokenizer.ggml.scores";
constexpr std::string_view kMergesKey = "tokenizer.ggml.merges";
constexpr std::string_view kPreKey = "tokenizer.ggml.pre";

Status check_text(std::string_view key, size_t i, std::string_view text) {
  if (text.size() > kMaxTokenBytes) {
    return invalid_argument("{}[{}] has {} bytes; at most {} are allowed", key, i, text.size(),
                            kMaxTokenBytes);
  }
  if (!valid_utf8(text)) return invalid_argument("{}[{}] is not UTF-8", key, i);
  return ok_status();
}

// The format's numbers: 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte.
TokenKind kind_of(int64_t type) {
  constexpr TokenKind kKinds[] = {TokenKind::kNormal,      TokenKind::kUnknown, TokenKind::kControl,
                                  TokenKind::kUserDefined, TokenKind::kUnused,  TokenKind::kByte};
  return kKinds[type - 1];
}

Status check_equal_length(const GgufMetadata& metadata, std::string_view key, size_t tokens) {
  LOCKSTEP_ASSIGN_OR_RETURN(const uint64_t size, metadata.array_size(key));
  if (size == tokens) return ok_status();
  return invalid_argument("{} has {} entries but {} has {}", key, size, kTokensKey, tokens);
}

Status read_tokens(const GgufMetadata& metadata, TokenizerSpec& spec) {
  LOCKSTEP_ASSIGN_OR_RETURN(const auto texts, metadata.strings(kTokensKey));
  const auto most = static_cast<size_t>(Vocabulary::kMaxSize);
  if (!(1 <= texts.size() && texts.size() <= most)) {
    return invalid_argument("{} has {} entries; allowed: [1, {}]", kTokensKey, texts.size(), most);
  }
  spec.token_kinds.assign(texts.size(), TokenKind::kNormal);
  if (metadata.has(kTypesKey)) {
    LOCKSTEP_RETURN_IF_ERROR(check_equal_length(metadata, kTypesKey, texts.size()));
    LOCKSTEP_ASSIGN_OR_RETURN(const auto types, metadata.integers(kTypesKey, 1, 6));
    std::transform(types.begin(), types.end(), spec.token_kinds.begin(), kind_of);
  }
  if (metadata.has(kScoresKey)) {
    LOCKSTEP_RETURN_IF_ERROR(check_equal_length(metadata, kScoresKey, texts.size()));
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    LOCKSTEP_RETURN_IF_ERROR(check_text(kTokensKey, i, texts[i]));
    spec.token_texts.emplace_back(texts[i]);
  }
  return ok_status();
}

// Tokens that a merge may name, by text. Control tokens are not made by merging.
using MergeableTokens = absl::flat_hash_map<std::string_view, int32_t, TextHash, std::equal_to<>>;

StatusOr<MergeableTokens> mergeable_tokens(const TokenizerSpec& spec) {
  MergeableTokens out;
  out.reserve(spec.token_texts.size());
  for (size_t i = 0; i < spec.token_texts.size(); ++i) {
    const TokenKind kind = spec.token_kinds[i];
    if (kind == TokenKind::kControl || kind == TokenKind::kUnknown) continue;
    if (!out.emplace(spec.token_texts[i], static_cast<int32_t>(i)).second) {
      return invalid_argument("{}[{}] {} occurs twice", kTokensKey, i,
                              quote_text(spec.token_texts[i]));
    }
  }
  return out;
}

// "left right" with one space, all three of left, right and leftright being tokens.
Status read_merges(const GgufMetadata& metadata, TokenizerSpec& spec) {
  LOCKSTEP_ASSIGN_OR_RETURN(const auto merges, metadata.strings(kMergesKey));
  if (merges.size() > kMaxMerges) {
    return invalid_argument("{} has {} entries; at most {} are allowed", kMergesKey, merges.size(),
                            kMaxMerges);
  }
  LOCKSTEP_ASSIGN_OR_RETURN(const auto tokens, mergeable_tokens(spec));
  std::string joined;
  for (size_t i = 0; i < merges.size(); ++i) {
    const std::string_view merge = merges[i];
    const size_t space = merge.find(' ');
    if (space == merge.npos || merge.find(' ', space + 1) != merge.npos) {
      return invalid_argument("{}[{}] {} is not two tokens with one space between", kMergesKey, i,
                              quote_text(merge));
    }
    joined = merge;
    joined.erase(space, 1);
    const auto left = tokens.find(merge.substr(0, space));
    const auto right = tokens.find(merge.substr(space + 1));
    const auto result = tokens.find(std::string_view(joined));
    if (left == tokens.end() || right == tokens.end() || result == tokens.end()) {
      return invalid_argument("{}[{}] {} names a token that does not exist", kMergesKey, i,
                              quote_text(merge));
    }
    spec.merges.emplace_back(left->second, right->second);
    spec.merge_results.push_back(result->second);
  }
  return ok_status();
}

Status read_specials(TokenizerSpec& spec) {
  for (size_t i = 0; i < spec.token_texts.size(); ++i) {
    const TokenKind kind = spec.token_kinds[i];
    const bool control = kind == TokenKind::kControl || kind == TokenKind::kUnknown;
    if (!control && kind != TokenKind::kUserDefined) continue;
    if (spec.token_texts[i].empty()) {
      return invalid_argument("{}[{}] is a special token without a text", kTokensKey, i);
    }
    SpecialToken special;
    special.id = static_cast<int64_t>(i);
    special.text = spec.token_texts[i];
    special.control = control;
    spec.specials.push_back(std::move(special));
  }
  return ok_status();
}

struct Defaults {
  bool add_bos = false;
  bool add_eos = false;
  int64_t bos_id = -1;  // -1: none
  int64_t eos_id = -1;
  int64_t unknown_id = -1;
};

// BOS and EOS and whether they go around a text. `fallback` holds where the file is silent.
Status read_ids(const GgufMetadata& metadata, const Defaults& fallback, TokenizerSpec& spec) {
  const auto id = [&](std::string_view key, int64_t if_absent) {
    return metadata.integer_or(key, if_absent, 0, Vocabulary::kMaxSize - 1);
  };
  LOCKSTEP_ASSIGN_OR_RETURN(spec.bos_id, id("tokenizer.ggml.bos_token_id", fallback.bos_id));
  LOCKSTEP_ASSIGN_OR_RETURN(spec.eos_id, id("tokenizer.ggml.eos_token_id", fallback.eos_id));
  LOCKSTEP_ASSIGN_OR_RETURN(spec.unknown_id,
                            id("tokenizer.ggml.unknown_token_id", fallback.unknown_id));
  LOCKSTEP_ASSIGN_OR_RETURN(const bool add_bos,
                            metadata.boolean_or("tokenizer.ggml.add_bos_token", fallback.add_bos));
  LOCKSTEP_ASSIGN_OR_RETURN(const bool add_eos,
                            metadata.boolean_or("tokenizer.ggml.add_eos_token", fallback.add_eos));
  if ((add_bos && spec.bos_id < 0) || (add_eos && spec.eos_id < 0)) {
    return invalid_argument("the tokenizer adds a BOS or EOS token that it does not name");
  }
  if (add_bos) spec.prefix_ids = {spec.bos_id};
  if (add_eos) spec.suffix_ids = {spec.eos_id};
  return ok_status();
}

Status read_byte_level(const GgufMetadata& metadata, TokenizerSpec& spec) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string_view pre, metadata.string_or(kPreKey, "default"));
  const NamedPreTokenizer* named = find_pre_tokenizer(pre);
  if (named == nullptr) {
    return unimplemented("{} {} is not supported; supported: {}", kPreKey, quote_text(pre),
                         pre_tokenizer_names());
  }
  spec.word_steps.assign(named->splits.begin(), named->splits.end());
  spec.ignore_merges = named->ignore_merges;
  spec.decoder = {{.kind = DecoderStep::Kind::kByteAlphabet}};
  LOCKSTEP_RETURN_IF_ERROR(read_merges(metadata, spec));
  LOCKSTEP_RETURN_IF_ERROR(read_ids(metadata, {.add_bos = named->add_bos}, spec));
  spec.unknown_id = -1;  // llama.cpp drops a byte that has no token
  return ok_status();
}

// SentencePiece's BPE: spaces are marks, merges go by score, rare characters are bytes.
Status read_sentence_piece(const GgufMetadata& metadata, TokenizerSpec& spec) {
  spec.model = TokenModel::kCharacterBpe;
  spec.byte_fallback = true;
  LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<float> scores, metadata.floats(kScoresKey));
  spec.scores.assign(scores.begin(), scores.end());
  LOCKSTEP_ASSIGN_OR_RETURN(const bool prefix_space,
                            metadata.boolean_or("tokenizer.ggml.add_space_prefix", true));
  if (prefix_space) {
    spec.normalizer.push_back({.kind = NormalizerStep::Kind::kPrepend, .text = kSpaceMark});
  }
  spec.normalizer.push_back(
      {.kind = NormalizerStep::Kind::kReplace, .pattern = " ", .text = kSpaceMark});
  spec.decoder = {{.kind = DecoderStep::Kind::kReplace, .pattern = kSpaceMark, .text = " "},
                  {.kind = DecoderStep::Kind::kByteFallback}};
  if (prefix_space) {
    spec.decoder.push_back({.kind = DecoderStep::Kind::kStripFirst, .pattern = " ", .count = 1});
  }
  return read_ids(metadata, {.add_bos = true, .bos_id = 1, .eos_id = 2, .unknown_id = 0}, spec);
}

}  // namespace

StatusOr<TokenizerSpec> tokenizer_from_gguf(const GgufMetadata& metadata) {
  if (!metadata.has(kModelKey)) return not_found("the file has no tokenizer ({})", kModelKey);
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string_view model, metadata.string(kModelKey));
  if (model != "gpt2" && model != "llama") {
    return unimplemented("{} {} is not supported; supported: gpt2, llama", kModelKey,
                         quote_text(model));
  }
  TokenizerSpec spec;
  LOCKSTEP_RETURN_IF_ERROR(read_tokens(metadata, spec));
  LOCKSTEP_RETURN_IF_ERROR(read_specials(spec));
  LOCKSTEP_RETURN_IF_ERROR(model == "gpt2" ? read_byte_level(metadata, spec)
                                           : read_sentence_piece(metadata, spec));
  return spec;
}

}  // namespace lockstep::formats
