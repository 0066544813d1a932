#include "formats/tokenizer_json_parts.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "base/vocabulary.h"
#include "formats/pre_tokenizers.h"

namespace lockstep::formats {
namespace {

constexpr size_t kMaxParts = 64;
constexpr int kMaxNesting = 4;
constexpr size_t kMaxTemplateTokens = 64;

// `part`, or the parts that a Sequence lists under `members`, which may nest.
Status flatten(const JsonFields& part, std::string_view members, int depth,
               std::vector<JsonFields>& parts) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string type, part.string("type"));
  if (type != "Sequence") {
    parts.push_back(part);
  } else {
    LOCKSTEP_ASSIGN_OR_RETURN(const auto list, part.array(members));
    if (depth == kMaxNesting || list.size() > kMaxParts) {
      return invalid_argument("{} has {} members {} deep; allowed: {}, {} deep",
                              part.path_of(members), list.size(), depth + 1, kMaxParts,
                              kMaxNesting);
    }
    for (size_t i = 0; i < list.size(); ++i) {
      LOCKSTEP_ASSIGN_OR_RETURN(
          const JsonFields member,
          JsonFields::of(list[i], fmt::format("{}[{}]", part.path_of(members), i)));
      LOCKSTEP_RETURN_IF_ERROR(flatten(member, members, depth + 1, parts));
    }
  }
  if (parts.size() > kMaxParts) {
    return invalid_argument("{} has more than {} parts", part.path_of(members), kMaxParts);
  }
  return ok_status();
}

StatusOr<std::vector<JsonFields>> parts_of(const JsonFields& root, std::string_view name,
                                           std::string_view members) {
  std::vector<JsonFields> parts;
  if (!root.has(name)) return parts;
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonFields top, root.object(name));
  LOCKSTEP_RETURN_IF_ERROR(flatten(top, members, 0, parts));
  return parts;
}

// {"String": text} or {"Regex": regex}
struct Pattern {
  std::string text;
  bool is_regex = false;
};

StatusOr<Pattern> read_pattern(const JsonFields& part) {
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonFields pattern, part.object("pattern"));
  Pattern out;
  out.is_regex = pattern.has("Regex");
  LOCKSTEP_ASSIGN_OR_RETURN(out.text, pattern.string(out.is_regex ? "Regex" : "String"));
  return out;
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

Status read_normalizer_part(const JsonFields& part, std::vector<NormalizerStep>& steps) {
  using Kind = NormalizerStep::Kind;
  struct Plain {
    std::string_view name;
    Kind kind;
  };
  constexpr Plain kPlain[] = {{"NFC", Kind::kNfc},
                              {"NFD", Kind::kNfd},
                              {"NFKC", Kind::kNfkc},
                              {"NFKD", Kind::kNfkd},
                              {"Lowercase", Kind::kLowercase}};
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string type, part.string("type"));
  const auto plain = std::ranges::find(kPlain, type, &Plain::name);
  NormalizerStep step;
  if (plain != std::end(kPlain)) {
    step.kind = plain->kind;
  } else if (type == "Replace") {
    LOCKSTEP_ASSIGN_OR_RETURN(Pattern pattern, read_pattern(part));
    step.kind = pattern.is_regex ? Kind::kReplaceRegex : Kind::kReplace;
    step.pattern = std::move(pattern.text);
    LOCKSTEP_ASSIGN_OR_RETURN(step.text, part.string("content"));
  } else if (type == "Prepend") {
    step.kind = Kind::kPrepend;
    LOCKSTEP_ASSIGN_OR_RETURN(step.text, part.string("prepend"));
  } else if (type == "Strip") {
    LOCKSTEP_ASSIGN_OR_RETURN(const bool left, part.boolean_or("strip_left", true));
    LOCKSTEP_ASSIGN_OR_RETURN(const bool right, part.boolean_or("strip_right", true));
    if (left) steps.push_back({.kind = Kind::kStripLeft});
    if (right) steps.push_back({.kind = Kind::kStripRight});
    return ok_status();
  } else {
    return unsupported_part("normalizer", type,
                            "NFC, NFD, NFKC, NFKD, Lowercase, Replace, Prepend, Strip, Sequence");
  }
  steps.push_back(std::move(step));
  return ok_status();
}

StatusOr<SplitBehavior> read_behavior(const JsonFields& part, std::string_view fallback) {
  struct Behavior {
    std::string_view name;
    SplitBehavior behavior;
  };
  constexpr Behavior kBehaviors[] = {{"Isolated", SplitBehavior::kIsolated},
                                     {"Removed", SplitBehavior::kRemoved},
                                     {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
                                     {"MergedWithNext", SplitBehavior::kMergedWithNext},
                                     {"Contiguous", SplitBehavior::kContiguous}};
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string name, part.string_or("behavior", fallback));
  const auto known = std::ranges::find(kBehaviors, name, &Behavior::name);
  if (known != std::end(kBehaviors)) return known->behavior;
  return unsupported_part(part.path_of("behavior"), name,
                          "Isolated, Removed, MergedWithPrevious, MergedWithNext, Contiguous");
}

StatusOr<Split> read_split(const JsonFields& part) {
  Split split;
  LOCKSTEP_ASSIGN_OR_RETURN(Pattern pattern, read_pattern(part));
  split.regex = pattern.is_regex ? std::move(pattern.text) : escaped_regex(pattern.text);
  LOCKSTEP_ASSIGN_OR_RETURN(split.behavior, read_behavior(part, ""));
  LOCKSTEP_ASSIGN_OR_RETURN(split.invert, part.boolean_or("invert", false));
  return split;
}

// prepend_scheme, or the older add_prefix_space.
StatusOr<Metaspace::Prefix> read_prefix(const JsonFields& part) {
  LOCKSTEP_ASSIGN_OR_RETURN(const bool add, part.boolean_or("add_prefix_space", true));
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string scheme,
                            part.string_or("prepend_scheme", add ? "always" : "never"));
  if (scheme == "always") return Metaspace::Prefix::kAlways;
  if (scheme == "first") return Metaspace::Prefix::kFirst;
  if (scheme == "never") return Metaspace::Prefix::kNever;
  return unsupported_part(part.path_of("prepend_scheme"), scheme, "always, first, never");
}

StatusOr<Metaspace> read_metaspace(const JsonFields& part) {
  Metaspace space;
  LOCKSTEP_ASSIGN_OR_RETURN(space.mark, part.string_or("replacement", kSpaceMark));
  LOCKSTEP_ASSIGN_OR_RETURN(space.prefix, read_prefix(part));
  LOCKSTEP_ASSIGN_OR_RETURN(space.split, part.boolean_or("split", true));
  return space;
}

Status read_byte_level(const JsonFields& part, std::vector<WordStep>& steps) {
  LOCKSTEP_ASSIGN_OR_RETURN(const bool prefix, part.boolean_or("add_prefix_space", true));
  LOCKSTEP_ASSIGN_OR_RETURN(const bool use_regex, part.boolean_or("use_regex", true));
  if (prefix) steps.emplace_back(PrefixSpace{});
  if (use_regex) steps.emplace_back(Split{.regex = std::string(kGpt2Words)});
  return ok_status();
}

Status read_word_step(const JsonFields& part, std::string_view type, std::vector<WordStep>& steps) {
  if (type == "Split") {
    LOCKSTEP_ASSIGN_OR_RETURN(Split split, read_split(part));
    steps.emplace_back(std::move(split));
  } else if (type == "Digits") {
    LOCKSTEP_ASSIGN_OR_RETURN(const bool single, part.boolean_or("individual_digits", false));
    steps.emplace_back(
        Split{.regex = std::string(kNumberRegex),
              .behavior = single ? SplitBehavior::kIsolated : SplitBehavior::kContiguous});
  } else if (type == "WhitespaceSplit") {
    steps.emplace_back(Split{.regex = "\\s", .behavior = SplitBehavior::kRemoved});
  } else if (type == "Punctuation") {
    Split split{.regex = std::string(kPunctuationRegex)};
    LOCKSTEP_ASSIGN_OR_RETURN(split.behavior, read_behavior(part, "Isolated"));
    steps.emplace_back(std::move(split));
  } else if (type == "Metaspace") {
    LOCKSTEP_ASSIGN_OR_RETURN(Metaspace space, read_metaspace(part));
    steps.emplace_back(std::move(space));
  } else {
    return unsupported_part(
        "pre_tokenizer", type,
        "Split, Digits, Punctuation, WhitespaceSplit, Metaspace, ByteLevel, Sequence");
  }
  return ok_status();
}

Status read_decoder_strip(const JsonFields& part, bool fused, std::vector<DecoderStep>& steps) {
  DecoderStep step{.kind = DecoderStep::Kind::kStripFirst};
  LOCKSTEP_ASSIGN_OR_RETURN(step.pattern, part.string("content"));
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t start, part.integer("start", 0, 64));
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t stop, part.integer("stop", 0, 64));
  if (!fused || stop != 0) {
    return unsupported_part("decoder", "Strip of each token or at the end",
                            "Strip after Fuse with stop 0");
  }
  step.count = static_cast<int>(start);
  steps.push_back(std::move(step));
  return ok_status();
}

Status read_decoder_part(const JsonFields& part, bool& fused, std::vector<DecoderStep>& steps) {
  using Kind = DecoderStep::Kind;
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string type, part.string("type"));
  if (type == "Strip") return read_decoder_strip(part, fused, steps);
  if (type == "Fuse") {
    fused = true;
    return ok_status();
  }
  DecoderStep step;
  if (type == "ByteLevel") {
    step.kind = Kind::kByteAlphabet;
  } else if (type == "ByteFallback") {
    step.kind = Kind::kByteFallback;
  } else if (type == "Replace") {
    LOCKSTEP_ASSIGN_OR_RETURN(Pattern pattern, read_pattern(part));
    if (pattern.is_regex) return unsupported_part("decoder", "Replace of a regex", "of a String");
    step.kind = Kind::kReplace;
    step.pattern = std::move(pattern.text);
    if (step.pattern.empty()) return invalid_argument("decoder Replace of an empty text");
    LOCKSTEP_ASSIGN_OR_RETURN(step.text, part.string("content"));
  } else if (type == "Metaspace") {
    step.kind = Kind::kMetaspace;
    LOCKSTEP_ASSIGN_OR_RETURN(const Metaspace space, read_metaspace(part));
    step.pattern = space.mark;
    step.count = space.prefix == Metaspace::Prefix::kNever ? 0 : 1;
  } else {
    return unsupported_part("decoder", type,
                            "ByteLevel, ByteFallback, Replace, Fuse, Strip, Metaspace, Sequence");
  }
  // One character is replaced alike in tokens and in the whole text.
  const bool whole_text_too =
      step.kind == Kind::kReplace && utf8_sequence_length(step.pattern) == step.pattern.size();
  if (fused && !whole_text_too) {
    return unsupported_part("decoder", type + " after Fuse",
                            "Strip, and Replace of one character, after Fuse");
  }
  steps.push_back(std::move(step));
  return ok_status();
}

constexpr int64_t kMaxId = Vocabulary::kMaxSize - 1;

// The ids of a SpecialToken piece of a template.
Status read_template_tokens(const JsonFields& post, const JsonFields& piece,
                            std::vector<int64_t>& ids) {
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonFields special, piece.object("SpecialToken"));
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string name, special.string("id"));
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonFields table, post.object("special_tokens"));
  LOCKSTEP_ASSIGN_OR_RETURN(const JsonFields entry, table.object(name));
  LOCKSTEP_ASSIGN_OR_RETURN(const auto list, entry.array("ids"));
  if (list.size() > kMaxTemplateTokens - std::min(kMaxTemplateTokens, ids.size())) {
    return invalid_argument("post_processor.single has more than {} tokens", kMaxTemplateTokens);
  }
  for (const JsonValue& id : list) {
    LOCKSTEP_ASSIGN_OR_RETURN(ids.emplace_back(),
                              json_integer(id, entry.path_of("ids"), 0, kMaxId));
  }
  return ok_status();
}

// Tokens, the text, tokens.
Status read_template(const JsonFields& post, TokenizerSpec& spec) {
  LOCKSTEP_ASSIGN_OR_RETURN(const auto pieces, post.array("single"));
  bool text_seen = false;
  for (size_t i = 0; i < pieces.size(); ++i) {
    LOCKSTEP_ASSIGN_OR_RETURN(
        const JsonFields piece,
        JsonFields::of(pieces[i], fmt::format("post_processor.single[{}]", i)));
    if (!piece.has("Sequence")) {
      LOCKSTEP_RETURN_IF_ERROR(
          read_template_tokens(post, piece, text_seen ? spec.suffix_ids : spec.prefix_ids));
    } else if (text_seen) {
      return unsupported_part("post_processor", "text twice", "tokens, the text, tokens");
    } else {
      text_seen = true;
    }
  }
  return ok_status();
}

// ["text", id]
StatusOr<int64_t> read_named_id(const JsonFields& post, std::string_view name) {
  LOCKSTEP_ASSIGN_OR_RETURN(const auto pair, post.array(name));
  if (pair.size() != 2) {
    return invalid_argument("{} has {} members; expected a text and an id", post.path_of(name),
                            pair.size());
  }
  return json_integer(pair[1], post.path_of(name), 0, kMaxId);
}

}  // namespace

Status unsupported_part(std::string_view path, std::string_view what, std::string_view supported) {
  return unimplemented("{} {} is not supported; supported: {}", path, quote_text(what), supported);
}

Status read_normalizer(const JsonFields& root, TokenizerSpec& spec) {
  LOCKSTEP_ASSIGN_OR_RETURN(const auto parts, parts_of(root, "normalizer", "normalizers"));
  for (const JsonFields& part : parts) {
    LOCKSTEP_RETURN_IF_ERROR(read_normalizer_part(part, spec.normalizer));
  }
  return ok_status();
}

Status read_pre_tokenizer(const JsonFields& root, TokenizerSpec& spec) {
  LOCKSTEP_ASSIGN_OR_RETURN(const auto parts, parts_of(root, "pre_tokenizer", "pretokenizers"));
  bool byte_level = false;
  for (const JsonFields& part : parts) {
    LOCKSTEP_ASSIGN_OR_RETURN(const std::string type, part.string("type"));
    if (byte_level) return unsupported_part("pre_tokenizer", type, "nothing after ByteLevel");
    if (type == "ByteLevel") {
      byte_level = true;
      LOCKSTEP_RETURN_IF_ERROR(read_byte_level(part, spec.word_steps));
    } else {
      LOCKSTEP_RETURN_IF_ERROR(read_word_step(part, type, spec.word_steps));
    }
  }
  if (!byte_level) return ok_status();
  if (spec.model == TokenModel::kUnigram || spec.byte_fallback) {
    return unsupported_part("pre_tokenizer", "ByteLevel with such a model",
                            "ByteLevel with BPE that has no byte_fallback");
  }
  spec.model = TokenModel::kByteLevelBpe;
  return ok_status();
}

Status read_decoder(const JsonFields& root, TokenizerSpec& spec) {
  LOCKSTEP_ASSIGN_OR_RETURN(const auto parts, parts_of(root, "decoder", "decoders"));
  bool fused = false;
  for (const JsonFields& part : parts) {
    LOCKSTEP_RETURN_IF_ERROR(read_decoder_part(part, fused, spec.decoder));
  }
  if (parts.empty() && spec.model == TokenModel::kByteLevelBpe) {
    spec.decoder.push_back({.kind = DecoderStep::Kind::kByteAlphabet});
  }
  return ok_status();
}

Status read_post_processor(const JsonFields& root, TokenizerSpec& spec) {
  LOCKSTEP_ASSIGN_OR_RETURN(const auto parts, parts_of(root, "post_processor", "processors"));
  for (const JsonFields& part : parts) {
    LOCKSTEP_ASSIGN_OR_RETURN(const std::string type, part.string("type"));
    if (type == "TemplateProcessing") {
      LOCKSTEP_RETURN_IF_ERROR(read_template(part, spec));
    } else if (type == "RobertaProcessing" || type == "BertProcessing") {
      LOCKSTEP_ASSIGN_OR_RETURN(spec.prefix_ids.emplace_back(), read_named_id(part, "cls"));
      LOCKSTEP_ASSIGN_OR_RETURN(spec.suffix_ids.emplace_back(), read_named_id(part, "sep"));
    } else if (type != "ByteLevel") {  // which only moves offsets
      return unsupported_part(
          "post_processor", type,
          "TemplateProcessing, RobertaProcessing, BertProcessing, ByteLevel, Sequence");
    }
  }
  // One token in front is what is called BOS, unless tokenizer_config.json knows better.
  if (spec.prefix_ids.size() == 1) spec.bos_id = spec.prefix_ids[0];
  if (spec.suffix_ids.size() == 1) spec.eos_id = spec.suffix_ids[0];
  return ok_status();
}

}  // namespace lockstep::formats
