// A tokenizer as data, checked: what text/ builds an encoder from. Makers: GGUF metadata
// (gguf_tokenizer.h) and tokenizer.json (tokenizer_json.h).
//
// Text goes through the added tokens, the normaliser, the pre-tokenizer (word steps) and the model;
// ids go back through the decoder. Each list of steps is applied in order.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace lockstep::formats {

// kNormal and kByte tokens are the model's own; the others it never makes out of text.
enum class TokenKind : uint8_t { kNormal, kUnknown, kControl, kUserDefined, kUnused, kByte };

enum class TokenModel : uint8_t {
  kByteLevelBpe,  // symbols are bytes; token texts are in GPT-2's alphabet (byte_alphabet.h)
  kCharacterBpe,  // symbols are characters
  kUnigram,       // the likeliest sequence of tokens
};

// What stands for space in the vocabularies of SentencePiece, U+2581.
inline constexpr const char* kSpaceMark = "\xe2\x96\x81";

struct NormalizerStep {
  enum class Kind : uint8_t {
    kNfc,
    kNfd,
    kNfkc,
    kNfkd,
    kLowercase,
    kReplace,       // every `pattern` by `text`
    kReplaceRegex,  // every match of `pattern` by `text`
    kPrepend,       // `text` in front of what is not empty
    kStripLeft,     // white space
    kStripRight,
  };
  Kind kind = Kind::kNfc;
  std::string pattern = {};
  std::string text = {};
};

// What becomes of a split's matches; text between matches is always a word of its own.
enum class SplitBehavior : uint8_t {
  kIsolated,  // each a word
  kRemoved,
  kMergedWithPrevious,  // joined to the text before
  kMergedWithNext,
  kContiguous,  // as isolated, but matches that touch are one word
};

struct Split {
  std::string regex;  // unchecked: text/ compiles it within limits
  SplitBehavior behavior = SplitBehavior::kIsolated;
  bool invert = false;  // the text between takes the matches' part

  friend bool operator==(const Split&, const Split&) = default;
};

// A word that does not start with a space gets one.
struct PrefixSpace {
  friend bool operator==(const PrefixSpace&, const PrefixSpace&) = default;
};

// Spaces become `mark`, and where `prefix` says so a word that does not start with one gets one.
struct Metaspace {
  enum class Prefix : uint8_t { kNever, kFirst, kAlways };  // kFirst: where the text begins
  std::string mark;
  Prefix prefix = Prefix::kAlways;
  bool split = true;  // a word ends before each mark

  friend bool operator==(const Metaspace&, const Metaspace&) = default;
};

using WordStep = std::variant<Split, PrefixSpace, Metaspace>;

struct DecoderStep {
  enum class Kind : uint8_t {
    kByteAlphabet,  // a token all of whose characters are in the alphabet is the bytes it spells
    kByteFallback,  // a token <0xHH> is that byte
    kReplace,       // every `pattern` by `text`
    kStripFirst,    // up to `count` times `pattern` at the front of the whole text
    kMetaspace,     // `pattern` is a space; with count 1 it is nothing in the first token
  };
  Kind kind = Kind::kByteAlphabet;
  std::string pattern = {};
  std::string text = {};
  int count = 0;
};

struct SpecialToken {
  int64_t id = 0;
  std::string text;
  bool control = false;  // hidden when decoding without specials
  // As in tokenizer.json: take the white space beside a match into it; match whole words only;
  // match in normalised text.
  bool strip_left = false;
  bool strip_right = false;
  bool single_word = false;
  bool normalized = false;
};

struct TokenizerSpec {
  TokenModel model = TokenModel::kByteLevelBpe;
  std::vector<SpecialToken> specials;  // matched in text before all else
  std::vector<NormalizerStep> normalizer;
  std::vector<WordStep> word_steps;  // each cuts the words of the one before
  std::vector<DecoderStep> decoder;

  std::vector<std::string> token_texts;  // [id], as the model matches them
  std::vector<TokenKind> token_kinds;    // same length
  // BPE by rank: ids of the two parts and of the whole, in the order of merging.
  std::vector<std::pair<int32_t, int32_t>> merges;
  std::vector<int32_t> merge_results;  // same length
  // [id], finite. kUnigram: log probabilities. kCharacterBpe: in place of merges; of all pairs that
  // make a token, the one that makes the token of the highest score is merged.
  std::vector<double> scores;
  bool ignore_merges = false;  // a word that is a token is taken whole, whatever its merges
  bool byte_fallback = false;  // a character without a token is its bytes <0xHH>, if all exist
  bool fuse_unknown = false;   // unknown characters that touch are one unknown token

  std::vector<int64_t> prefix_ids;  // in front of a text that stands alone: BOS
  std::vector<int64_t> suffix_ids;  // behind it: EOS
  int64_t bos_id = -1;              // -1: none
  int64_t eos_id = -1;
  int64_t unknown_id = -1;  // stands for a character, or byte, without a token; -1: it is lost
};

}  // namespace lockstep::formats
