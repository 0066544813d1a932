#include "formats/tokenizer_json.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>

#include "base/hash.h"
#include "base/text.h"
#include "base/vocabulary.h"
#include "formats/json.h"
#include "formats/tokenizer_json_parts.h"

namespace lockstep::formats {
namespace {

constexpr int64_t kMaxId = Vocabulary::kMaxSize - 1;
constexpr double kMaxScore = 1e9;
constexpr size_t kMaxMerges = size_t{1} << 22;

Status place_token(int64_t id, std::string_view text, TokenKind kind, TokenizerSpec& spec) {
  const auto at = static_cast<size_t>(id);
  if (at >= spec.token_texts.size()) {
    spec.token_texts.resize(at + 1);
    spec.token_kinds.resize(at + 1, TokenKind::kUnused);
  }
  const bool taken = spec.token_kinds[at] != TokenKind::kUnused;
  if (taken && spec.token_texts[at] != text) {
    return invalid_argument("id {} stands for both {} and {}", id, quote_text(spec.token_texts[at]),
                            quote_text(text));
  }
  spec.token_texts[at] = text;
  spec.token_kinds[at] = kind;
  return ok_status();
}

Status read_vocabulary(const JsonObject& vocabulary, TokenizerSpec& spec) {
  for (const JsonMember& member : vocabulary.members()) {
    LOCKSTEP_ASSIGN_OR_RETURN(const int64_t id,
                              json_integer(member.value, "model.vocab's id", 0, kMaxId));
    LOCKSTEP_RETURN_IF_ERROR(place_token(id, member.key, TokenKind::kNormal, spec));
  }
  return ok_status();
}

using TokensByText = absl::flat_hash_map<std::string_view, int32_t, TextHash, std::equal_to<>>;

StatusOr<int32_t> token_named(const TokensByText& tokens, std::string_view text, size_t merge) {
  const auto found = tokens.find(text);
  if (found != tokens.end()) return found->second;
  return invalid_argument("model.merges[{}] names {}, which is not a token", merge,
                          quote_text(text));
}

// "left right", or ["left", "right"].
StatusOr<std::pair<std::string, std::string>> read_merge(const JsonValue& merge, size_t i) {
  if (const std::string* text = merge.if_string()) {
    const size_t space = text->find(' ');
    if (space != text->npos && text->find(' ', space + 1) == text->npos) {
      return std::pair(text->substr(0, space), text->substr(space + 1));
    }
  } else if (const JsonArray* pair = merge.if_array()) {
    if (pair->size() == 2 && (*pair)[0].if_string() != nullptr &&
        (*pair)[1].if_string() != nullptr) {
      return std::pair(*(*pair)[0].if_string(), *(*pair)[1].if_string());
    }
  }
  return invalid_argument("model.merges[{}] is {}; expected two tokens", i, merge.describe());
}

Status read_merges(const JsonFields& model, TokenizerSpec& spec) {
  LOCKSTEP_ASSIGN_OR_RETURN(const auto merges, model.array("merges"));
  if (merges.size() > kMaxMerges) {
    return invalid_argument("model.merges has {} entries; at most {} are allowed", merges.size(),
                            kMaxMerges);
  }
  TokensByText tokens;
  tokens.reserve(spec.token_texts.size());
  for (size_t id = 0; id < spec.token_texts.size(); ++id) {
    if (spec.token_kinds[id] != TokenKind::kUnused) {
      tokens.emplace(spec.token_texts[id], static_cast<int32_t>(id));
    }
  }
  for (size_t i = 0; i < merges.size(); ++i) {
    LOCKSTEP_ASSIGN_OR_RETURN(const auto pair, read_merge(merges[i], i));
    LOCKSTEP_ASSIGN_OR_RETURN(const int32_t left, token_named(tokens, pair.first, i));
    LOCKSTEP_ASSIGN_OR_RETURN(const int32_t right, token_named(tokens, pair.second, i));
    LOCKSTEP_ASSIGN_OR_RETURN(const int32_t result,
                              token_named(tokens, pair.first + pair.second, i));
    spec.merges.emplace_back(left, right);
    spec.merge_results.push_back(result);
  }
  return ok_status();
}

Status read_bpe(const JsonFields& model, TokenizerSpec& spec) {
  spec.model = TokenModel::kCharacterBpe;
  LOCKSTEP_ASSIGN_OR_RETURN(const double dropout, model.number_or("dropout", 0.0, 0.0, 1.0));
  if (dropout != 0) return unsupported_part("model.dropout", "above 0", "0");
  for (const std::string_view affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    LOCKSTEP_ASSIGN_OR_RETURN(const std::string text, model.string_or(affix, ""));
    if (!text.empty()) return unsupported_part(model.path_of(affix), text, "none");
  }
  LOCKSTEP_ASSIGN_OR_RETURN(spec.ignore_merges, model.boolean_or("ignore_merges", false));
  LOCKSTEP_ASSIGN_OR_RETURN(spec.byte_fallback, model.boolean_or("byte_fallback", false));
  LOCKSTEP_ASSIGN_OR_RETURN(spec.fuse_unknown, model.boolean_or("fuse_unk", false));
  LOCKSTEP_RETURN_IF_ERROR(model.object("vocab").status());
  const JsonObject& vocabulary = *model.find("vocab")->if_object();
  LOCKSTEP_RETURN_IF_ERROR(read_vocabulary(vocabulary, spec));
  LOCKSTEP_RETURN_IF_ERROR(read_merges(model, spec));
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string unknown, model.string_or("unk_token", ""));
  if (const JsonValue* id = unknown.empty() ? nullptr : vocabulary.find(unknown)) {
    spec.unknown_id = *id->if_int64();
  }
  return ok_status();
}

// [["text", score], ...], the id being the place.
Status read_unigram(const JsonFields& model, TokenizerSpec& spec) {
  spec.model = TokenModel::kUnigram;
  LOCKSTEP_ASSIGN_OR_RETURN(const auto vocabulary, model.array("vocab"));
  if (vocabulary.size() > static_cast<size_t>(Vocabulary::kMaxSize)) {
    return invalid_argument("model.vocab has {} entries; at most {} are allowed", vocabulary.size(),
                            Vocabulary::kMaxSize);
  }
  for (size_t i = 0; i < vocabulary.size(); ++i) {
    const std::string where = fmt::format("model.vocab[{}]", i);
    const JsonArray* pair = vocabulary[i].if_array();
    if (pair == nullptr || pair->size() != 2) {
      return invalid_argument("{} is {}; expected a text and a score", where,
                              vocabulary[i].describe());
    }
    LOCKSTEP_ASSIGN_OR_RETURN(std::string text, json_string((*pair)[0], where));
    LOCKSTEP_ASSIGN_OR_RETURN(const double score,
                              json_number((*pair)[1], where, -kMaxScore, kMaxScore));
    spec.token_texts.push_back(std::move(text));
    spec.token_kinds.push_back(TokenKind::kNormal);
    spec.scores.push_back(score);
  }
  LOCKSTEP_ASSIGN_OR_RETURN(spec.byte_fallback, model.boolean_or("byte_fallback", false));
  LOCKSTEP_ASSIGN_OR_RETURN(spec.unknown_id,
                            model.integer_or("unk_id", -1, 0, std::ssize(vocabulary) - 1));
  return ok_status();
}

// Files of the first versions do not name the kind.
Status read_model(const JsonFields& root, TokenizerSpec& spec) {
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonFields model, root.object("model"));
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string type, model.string_or("type", "BPE"));
  if (type == "BPE") return read_bpe(model, spec);
  if (type == "Unigram") return read_unigram(model, spec);
  return unsupported_part("model.type", type, "BPE, Unigram");
}

// A token that is in the model's vocabulary too stays one that the model can make, unless it is a
// control token.
TokenKind added_kind(const SpecialToken& token, const TokenizerSpec& spec) {
  if (token.control) return TokenKind::kControl;
  const auto id = static_cast<size_t>(token.id);
  const bool in_model = id < spec.token_kinds.size() && spec.token_kinds[id] == TokenKind::kNormal;
  return in_model ? TokenKind::kNormal : TokenKind::kUserDefined;
}

Status read_added_tokens(const JsonFields& root, TokenizerSpec& spec) {
  if (!root.has("added_tokens")) return ok_status();
  LOCKSTEP_ASSIGN_OR_RETURN(const auto tokens, root.array("added_tokens"));
  for (size_t i = 0; i < tokens.size(); ++i) {
    LOCKSTEP_ASSIGN_OR_RETURN(const JsonFields fields,
                              JsonFields::of(tokens[i], fmt::format("added_tokens[{}]", i)));
    SpecialToken token;
    LOCKSTEP_ASSIGN_OR_RETURN(token.id, fields.integer("id", 0, kMaxId));
    LOCKSTEP_ASSIGN_OR_RETURN(token.text, fields.string("content"));
    LOCKSTEP_ASSIGN_OR_RETURN(token.control, fields.boolean_or("special", false));
    LOCKSTEP_ASSIGN_OR_RETURN(token.strip_left, fields.boolean_or("lstrip", false));
    LOCKSTEP_ASSIGN_OR_RETURN(token.strip_right, fields.boolean_or("rstrip", false));
    LOCKSTEP_ASSIGN_OR_RETURN(token.single_word, fields.boolean_or("single_word", false));
    LOCKSTEP_ASSIGN_OR_RETURN(token.normalized, fields.boolean_or("normalized", !token.control));
    LOCKSTEP_RETURN_IF_ERROR(place_token(token.id, token.text, added_kind(token, spec), spec));
    spec.specials.push_back(std::move(token));
  }
  return ok_status();
}

// A token's text in tokenizer_config.json: a string, or an object that has it as its content.
StatusOr<std::string> token_text(const JsonFields& config, std::string_view name) {
  const JsonValue* value = config.find(name);
  if (value == nullptr || value->if_object() == nullptr) return config.string_or(name, "");
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonFields token, config.object(name));
  return token.string_or("content", "");
}

std::optional<int64_t> find_token(const TokenizerSpec& spec, std::string_view text) {
  const auto special = std::ranges::find(spec.specials, text, &SpecialToken::text);
  if (special != spec.specials.end()) return special->id;
  const auto ordinary = std::ranges::find(spec.token_texts, text);
  if (ordinary == spec.token_texts.end()) return std::nullopt;
  return ordinary - spec.token_texts.begin();
}

// Classes whose BOS and EOS follow tokenizer_config.json, whatever the post-processor says.
bool config_decides(std::string_view tokenizer_class) {
  constexpr std::string_view kClasses[] = {
      "LlamaTokenizer", "LlamaTokenizerFast", "CodeLlamaTokenizer", "CodeLlamaTokenizerFast",
      "GemmaTokenizer", "GemmaTokenizerFast", "CohereTokenizer",    "CohereTokenizerFast"};
  return std::ranges::find(kClasses, tokenizer_class) != std::end(kClasses);
}

Status apply_named_token(const JsonFields& config, std::string_view name, std::string_view add,
                         bool decides, const TokenizerSpec& spec, int64_t& id,
                         std::vector<int64_t>& around) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string text, token_text(config, name));
  if (const auto found = text.empty() ? std::nullopt : find_token(spec, text)) id = *found;
  if (!decides || !config.has(add)) return ok_status();
  LOCKSTEP_ASSIGN_OR_RETURN(const bool adds, config.boolean(add));
  around.clear();
  if (adds && id >= 0) around = {id};
  return ok_status();
}

}  // namespace

StatusOr<TokenizerSpec> parse_tokenizer_json(std::string_view json) {
  const JsonLimits limits{
      .max_bytes = kMaxTokenizerJsonBytes, .max_values = uint64_t{1} << 23, .max_depth = 32};
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonValue value, parse_json(json, limits));
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonFields root, JsonFields::of(value, ""));
  TokenizerSpec spec;
  LOCKSTEP_RETURN_IF_ERROR(read_model(root, spec));
  LOCKSTEP_RETURN_IF_ERROR(read_normalizer(root, spec));
  LOCKSTEP_RETURN_IF_ERROR(read_pre_tokenizer(root, spec));
  LOCKSTEP_RETURN_IF_ERROR(read_decoder(root, spec));
  LOCKSTEP_RETURN_IF_ERROR(read_added_tokens(root, spec));
  LOCKSTEP_RETURN_IF_ERROR(read_post_processor(root, spec));
  return spec;
}

Status apply_tokenizer_config(std::string_view json, TokenizerSpec& spec) {
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonValue value,
                            parse_json(json, {.max_bytes = kMaxTokenizerConfigBytes}));
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonFields config, JsonFields::of(value, ""));
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string name, config.string_or("tokenizer_class", ""));
  const bool decides = config_decides(name);
  LOCKSTEP_RETURN_IF_ERROR(apply_named_token(config, "bos_token", "add_bos_token", decides, spec,
                                             spec.bos_id, spec.prefix_ids));
  return apply_named_token(config, "eos_token", "add_eos_token", decides, spec, spec.eos_id,
                           spec.suffix_ids);
}

}  // namespace lockstep::formats
