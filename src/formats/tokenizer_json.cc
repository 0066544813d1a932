#include "formats/tokenizer_json.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/text.h"
#include "base/vocabulary.h"
#include "formats/json.h"
#include "formats/pre_tokenizers.h"

namespace lockstep::formats {
namespace {

constexpr int64_t kMaxId = Vocabulary::kMaxSize - 1;
constexpr size_t kMaxMerges = size_t{1} << 22;
constexpr size_t kMaxNestedParts = 64;

Status unsupported(std::string_view path, std::string_view what, std::string_view supported) {
  return unimplemented("{} {} is not supported; supported: {}", path, quote_text(what), supported);
}

// The parts of `name`, which is absent, one part, or a Sequence that lists them under `members`.
StatusOr<std::vector<JsonFields>> parts_of(const JsonFields& root, std::string_view name,
                                           std::string_view members) {
  std::vector<JsonFields> parts;
  if (!root.has(name)) return parts;
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonFields top, root.object(name));
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string type, top.string("type"));
  if (type != "Sequence") {
    parts.push_back(top);
    return parts;
  }
  LOCKSTEP_ASSIGN_OR_RETURN(const auto list, top.array(members));
  if (list.size() > kMaxNestedParts) {
    return invalid_argument("{} has {} parts; at most {} are allowed", name, list.size(),
                            kMaxNestedParts);
  }
  for (size_t i = 0; i < list.size(); ++i) {
    LOCKSTEP_ASSIGN_OR_RETURN(JsonFields part,
                              JsonFields::of(list[i], fmt::format("{}[{}]", name, i)));
    parts.push_back(std::move(part));
  }
  return parts;
}

Status read_normalizer(const JsonFields& root, TokenizerSpec& spec) {
  struct Form {
    std::string_view name;
    Normalization step;
  };
  constexpr Form kForms[] = {{"NFC", Normalization::kNfc},
                             {"NFD", Normalization::kNfd},
                             {"NFKC", Normalization::kNfkc},
                             {"NFKD", Normalization::kNfkd}};
  LOCKSTEP_ASSIGN_OR_RETURN(const auto parts, parts_of(root, "normalizer", "normalizers"));
  for (const JsonFields& part : parts) {
    LOCKSTEP_ASSIGN_OR_RETURN(const std::string type, part.string("type"));
    const auto form = std::ranges::find(kForms, type, &Form::name);
    if (form == std::end(kForms)) return unsupported("normalizer", type, "NFC, NFD, NFKC, NFKD");
    spec.normalizations.push_back(form->step);
  }
  return ok_status();
}

// A regex that matches the text alone.
std::string escaped_regex(std::string_view text) {
  constexpr std::string_view kSpecial = R"(\^$.|?*+()[]{}-&#~)";
  std::string out;
  for (const char c : text) {
    if (kSpecial.find(c) != kSpecial.npos) out += '\\';
    out += c;
  }
  return out;
}

StatusOr<Split> read_split(const JsonFields& part) {
  struct Behavior {
    std::string_view name;
    SplitBehavior behavior;
  };
  constexpr Behavior kBehaviors[] = {{"Isolated", SplitBehavior::kIsolated},
                                     {"Removed", SplitBehavior::kRemoved},
                                     {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
                                     {"MergedWithNext", SplitBehavior::kMergedWithNext},
                                     {"Contiguous", SplitBehavior::kContiguous}};
  Split split;
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonFields pattern, part.object("pattern"));
  if (pattern.has("Regex")) {
    LOCKSTEP_ASSIGN_OR_RETURN(split.regex, pattern.string("Regex"));
  } else {
    LOCKSTEP_ASSIGN_OR_RETURN(const std::string text, pattern.string("String"));
    split.regex = escaped_regex(text);
  }
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string name, part.string("behavior"));
  const auto known = std::ranges::find(kBehaviors, name, &Behavior::name);
  if (known == std::end(kBehaviors)) {
    return unsupported(part.path_of("behavior"), name,
                       "Isolated, Removed, MergedWithPrevious, MergedWithNext, Contiguous");
  }
  split.behavior = known->behavior;
  LOCKSTEP_ASSIGN_OR_RETURN(split.invert, part.boolean_or("invert", false));
  return split;
}

// Splits, and ByteLevel as the last part: it is what makes the vocabulary one of bytes.
Status read_pre_tokenizer(const JsonFields& root, TokenizerSpec& spec) {
  LOCKSTEP_ASSIGN_OR_RETURN(const auto parts, parts_of(root, "pre_tokenizer", "pretokenizers"));
  bool byte_level = false;
  for (const JsonFields& part : parts) {
    LOCKSTEP_ASSIGN_OR_RETURN(const std::string type, part.string("type"));
    if (byte_level) return unsupported("pre_tokenizer", type, "nothing after ByteLevel");
    if (type == "Split") {
      LOCKSTEP_ASSIGN_OR_RETURN(Split split, read_split(part));
      spec.splits.push_back(std::move(split));
    } else if (type == "Digits") {
      LOCKSTEP_ASSIGN_OR_RETURN(const bool single, part.boolean_or("individual_digits", false));
      spec.splits.push_back(
          {.regex = std::string(kNumberRegex),
           .behavior = single ? SplitBehavior::kIsolated : SplitBehavior::kContiguous});
    } else if (type == "ByteLevel") {
      byte_level = true;
      LOCKSTEP_ASSIGN_OR_RETURN(spec.add_space_prefix, part.boolean_or("add_prefix_space", true));
      if (spec.add_space_prefix && !spec.splits.empty()) {
        return unsupported("pre_tokenizer", "ByteLevel with add_prefix_space after a split",
                           "ByteLevel with add_prefix_space alone");
      }
      LOCKSTEP_ASSIGN_OR_RETURN(const bool use_regex, part.boolean_or("use_regex", true));
      const auto gpt2 = splits_of(PreTokenizer::kGpt2);
      if (use_regex) spec.splits.insert(spec.splits.end(), gpt2.begin(), gpt2.end());
    } else {
      return unsupported("pre_tokenizer", type, "Split, Digits, ByteLevel, Sequence");
    }
  }
  if (!byte_level) return unsupported("pre_tokenizer", "without ByteLevel", "ByteLevel");
  spec.pre = recognise_splits(spec.splits);
  if (spec.pre != PreTokenizer::kCustom) spec.splits.clear();
  return ok_status();
}

Status read_decoder(const JsonFields& root) {
  LOCKSTEP_ASSIGN_OR_RETURN(const auto parts, parts_of(root, "decoder", "decoders"));
  for (const JsonFields& part : parts) {
    LOCKSTEP_ASSIGN_OR_RETURN(const std::string type, part.string("type"));
    if (type != "ByteLevel") return unsupported("decoder", type, "ByteLevel");
  }
  return ok_status();
}

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

StatusOr<int32_t> token_named(const JsonObject& vocabulary, std::string_view text, size_t merge) {
  const JsonValue* id = vocabulary.find(text);
  if (id == nullptr) {
    return invalid_argument("model.merges[{}] names {}, which is not a token", merge,
                            quote_text(text));
  }
  return static_cast<int32_t>(*id->if_int64());  // checked by read_vocabulary
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

Status read_merges(const JsonFields& model, const JsonObject& vocabulary, TokenizerSpec& spec) {
  LOCKSTEP_ASSIGN_OR_RETURN(const auto merges, model.array("merges"));
  if (merges.size() > kMaxMerges) {
    return invalid_argument("model.merges has {} entries; at most {} are allowed", merges.size(),
                            kMaxMerges);
  }
  for (size_t i = 0; i < merges.size(); ++i) {
    LOCKSTEP_ASSIGN_OR_RETURN(const auto pair, read_merge(merges[i], i));
    LOCKSTEP_ASSIGN_OR_RETURN(const int32_t left, token_named(vocabulary, pair.first, i));
    LOCKSTEP_ASSIGN_OR_RETURN(const int32_t right, token_named(vocabulary, pair.second, i));
    LOCKSTEP_ASSIGN_OR_RETURN(const int32_t result,
                              token_named(vocabulary, pair.first + pair.second, i));
    spec.merges.emplace_back(left, right);
    spec.merge_results.push_back(result);
  }
  return ok_status();
}

Status read_model(const JsonFields& root, TokenizerSpec& spec) {
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonFields model, root.object("model"));
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string type, model.string_or("type", "BPE"));
  if (type != "BPE") return unsupported("model.type", type, "BPE");
  LOCKSTEP_ASSIGN_OR_RETURN(const bool byte_fallback, model.boolean_or("byte_fallback", false));
  if (byte_fallback) return unsupported("model", "byte_fallback", "byte-level BPE");
  LOCKSTEP_ASSIGN_OR_RETURN(const double dropout, model.number_or("dropout", 0.0, 0.0, 1.0));
  if (dropout != 0) return unsupported("model.dropout", "above 0", "0");
  for (const std::string_view affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    LOCKSTEP_ASSIGN_OR_RETURN(const std::string text, model.string_or(affix, ""));
    if (!text.empty()) return unsupported(model.path_of(affix), text, "none");
  }
  LOCKSTEP_ASSIGN_OR_RETURN(spec.ignore_merges, model.boolean_or("ignore_merges", false));
  LOCKSTEP_RETURN_IF_ERROR(model.object("vocab").status());
  const JsonObject& vocabulary = *model.find("vocab")->if_object();
  LOCKSTEP_RETURN_IF_ERROR(read_vocabulary(vocabulary, spec));
  LOCKSTEP_RETURN_IF_ERROR(read_merges(model, vocabulary, spec));

  LOCKSTEP_ASSIGN_OR_RETURN(const std::string unknown, model.string_or("unk_token", ""));
  if (const JsonValue* id = unknown.empty() ? nullptr : vocabulary.find(unknown)) {
    LOCKSTEP_ASSIGN_OR_RETURN(const bool fuse, model.boolean_or("fuse_unk", false));
    if (fuse) return unsupported("model", "fuse_unk with an unk_token", "fuse_unk false");
    spec.unknown_id = spec.missing_byte_id = *id->if_int64();
  }
  return ok_status();
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
    const TokenKind kind = token.control ? TokenKind::kControl : TokenKind::kUserDefined;
    LOCKSTEP_RETURN_IF_ERROR(place_token(token.id, token.text, kind, spec));
    spec.specials.push_back(std::move(token));
  }
  return ok_status();
}

// The one id of a SpecialToken piece of a template.
StatusOr<int64_t> template_token(const JsonFields& post, const JsonFields& piece) {
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonFields special, piece.object("SpecialToken"));
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string name, special.string("id"));
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonFields table, post.object("special_tokens"));
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonFields entry, table.object(name));
  LOCKSTEP_ASSIGN_OR_RETURN(const auto ids, entry.array("ids"));
  if (ids.size() != 1) {
    return invalid_argument("{} stands for {} ids; expected 1", quote_text(name), ids.size());
  }
  return json_integer(ids[0], entry.path_of("ids"), 0, kMaxId);
}

// [BOS] text [EOS]
Status read_template(const JsonFields& post, TokenizerSpec& spec) {
  LOCKSTEP_ASSIGN_OR_RETURN(const auto pieces, post.array("single"));
  bool text_seen = false;
  for (size_t i = 0; i < pieces.size(); ++i) {
    LOCKSTEP_ASSIGN_OR_RETURN(
        const JsonFields piece,
        JsonFields::of(pieces[i], fmt::format("post_processor.single[{}]", i)));
    if (piece.has("Sequence")) {
      if (text_seen) return unsupported("post_processor", "text twice", "[BOS] text [EOS]");
      text_seen = true;
      continue;
    }
    LOCKSTEP_ASSIGN_OR_RETURN(const int64_t id, template_token(post, piece));
    bool& adds = text_seen ? spec.add_eos : spec.add_bos;
    if (adds) return unsupported("post_processor", "several tokens", "[BOS] text [EOS]");
    adds = true;
    (text_seen ? spec.eos_id : spec.bos_id) = id;
  }
  return ok_status();
}

Status read_post_processor(const JsonFields& root, TokenizerSpec& spec) {
  LOCKSTEP_ASSIGN_OR_RETURN(const auto parts, parts_of(root, "post_processor", "processors"));
  for (const JsonFields& part : parts) {
    LOCKSTEP_ASSIGN_OR_RETURN(const std::string type, part.string("type"));
    if (type == "TemplateProcessing") {
      LOCKSTEP_RETURN_IF_ERROR(read_template(part, spec));
    } else if (type != "ByteLevel") {  // which only moves offsets
      return unsupported("post_processor", type, "TemplateProcessing, ByteLevel, Sequence");
    }
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
  LOCKSTEP_RETURN_IF_ERROR(read_decoder(root));
  LOCKSTEP_RETURN_IF_ERROR(read_added_tokens(root, spec));
  LOCKSTEP_RETURN_IF_ERROR(read_post_processor(root, spec));
  return spec;
}

Status apply_tokenizer_config(std::string_view json, TokenizerSpec& spec) {
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonValue value,
                            parse_json(json, {.max_bytes = kMaxTokenizerConfigBytes}));
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonFields config, JsonFields::of(value, ""));
  struct Named {
    std::string_view name;
    int64_t* id;
    bool fixed;  // by the post-processor
  };
  for (const Named& token : {Named{"bos_token", &spec.bos_id, spec.add_bos},
                             Named{"eos_token", &spec.eos_id, spec.add_eos}}) {
    LOCKSTEP_ASSIGN_OR_RETURN(const std::string text, token_text(config, token.name));
    if (text.empty() || token.fixed) continue;
    if (const auto id = find_token(spec, text)) *token.id = *id;
  }
  return ok_status();
}

}  // namespace lockstep::formats
