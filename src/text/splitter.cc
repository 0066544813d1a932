#include "text/splitter.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "formats/pre_tokenizers.h"
#include "text/text_replace.h"

namespace lockstep::text {
namespace {

using formats::SplitBehavior;

struct Part {
  size_t begin;
  size_t end;
  bool match;
};

// Matches and the gaps between them: all of the text, in order.
void parts_of(std::span<const MatchSpan> matches, size_t text_bytes, bool invert,
              std::vector<Part>& parts) {
  parts.clear();
  size_t at = 0;
  for (const MatchSpan& m : matches) {
    if (at < m.begin) parts.push_back({at, m.begin, invert});
    parts.push_back({m.begin, m.end, !invert});
    at = m.end;
  }
  if (at < text_bytes) parts.push_back({at, text_bytes, invert});
}

// Joins each match to the part before it, unless that is a match itself. Going through the parts
// in reverse joins to the part after.
template <class Parts>
void join_matches(const Parts& parts, std::vector<Part>& joined) {
  bool previous_match = false;
  for (const Part& part : parts) {
    if (part.match && !previous_match && !joined.empty()) {
      Part& last = joined.back();
      last = {std::min(last.begin, part.begin), std::max(last.end, part.end), false};
    } else {
      joined.push_back(part);
    }
    previous_match = part.match;
  }
}

void join_touching(std::span<const Part> parts, std::vector<Part>& joined) {
  for (const Part& part : parts) {
    if (!joined.empty() && joined.back().match == part.match) {
      joined.back().end = part.end;
    } else {
      joined.push_back(part);
    }
  }
}

void apply(SplitBehavior behavior, std::vector<Part>& parts) {
  std::vector<Part> joined;
  switch (behavior) {
    case SplitBehavior::kIsolated:
      return;
    case SplitBehavior::kRemoved:
      std::erase_if(parts, [](const Part& part) { return part.match; });
      return;
    case SplitBehavior::kMergedWithPrevious:
      join_matches(parts, joined);
      break;
    case SplitBehavior::kMergedWithNext:
      join_matches(std::views::reverse(parts), joined);
      std::ranges::reverse(joined);
      break;
    case SplitBehavior::kContiguous:
      join_touching(parts, joined);
      break;
  }
  parts = std::move(joined);
}

void literal_matches(std::string_view text, std::string_view what,
                     std::vector<MatchSpan>& matches) {
  matches.clear();
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + what.size())) {
    matches.push_back({at, at + what.size()});
  }
}

struct Word {
  std::string_view text;
  bool at_front;  // of the whole text
};

}  // namespace

StatusOr<Splitter> Splitter::create(std::span<const formats::WordStep> steps) {
  if (steps.size() > kMaxSteps) {
    return invalid_argument("pre-tokenizer has {} steps; at most {} are allowed", steps.size(),
                            kMaxSteps);
  }
  Splitter splitter;
  for (const formats::WordStep& step : steps) {
    if (const auto* split = std::get_if<formats::Split>(&step)) {
      const auto trust =
          formats::is_known_regex(split->regex) ? Regex::Trust::kOwn : Regex::Trust::kFile;
      LOCKSTEP_ASSIGN_OR_RETURN(Regex regex, Regex::create(split->regex, trust));
      splitter.steps_.emplace_back(RegexSplit{std::move(regex), split->behavior, split->invert});
    } else if (const auto* metaspace = std::get_if<formats::Metaspace>(&step)) {
      if (metaspace->mark.empty()) return invalid_argument("Metaspace has no mark for a space");
      splitter.steps_.emplace_back(*metaspace);
    } else {
      splitter.steps_.emplace_back(formats::PrefixSpace{});
    }
  }
  return splitter;
}

// One call of cut: the words before and after a step, and the memory that words share.
class Splitter::Cutter {
 public:
  Cutter(std::string_view utf8, bool at_front, std::deque<std::string>& made)
      : run_(utf8.size()), made_(made), words_{{utf8, at_front}} {}

  Status apply(const Step& step) {
    next_.clear();
    for (const Word& word : words_) {
      LOCKSTEP_RETURN_IF_ERROR(std::visit([&](const auto& s) { return cut(s, word); }, step));
    }
    std::swap(words_, next_);
    return ok_status();
  }

  std::span<const Word> words() const { return words_; }

 private:
  Status cut(const RegexSplit& split, const Word& word) {
    LOCKSTEP_RETURN_IF_ERROR(split.regex.find_all(word.text, run_, matches_));
    push_parts(word, split.behavior, split.invert);
    return ok_status();
  }

  Status cut(const formats::PrefixSpace&, const Word& word) {
    if (word.text.starts_with(' ')) {
      next_.push_back(word);
      return ok_status();
    }
    std::string prefixed(1, ' ');
    prefixed += word.text;
    LOCKSTEP_ASSIGN_OR_RETURN(const std::string_view text, keep(std::move(prefixed)));
    next_.push_back({text, word.at_front});
    return ok_status();
  }

  Status cut(const formats::Metaspace& space, const Word& word) {
    using Prefix = formats::Metaspace::Prefix;
    LOCKSTEP_ASSIGN_OR_RETURN(std::string marked,
                              replace_all(word.text, " ", space.mark, kMaxMadeBytes));
    const bool wanted =
        space.prefix == Prefix::kAlways || (space.prefix == Prefix::kFirst && word.at_front);
    if (wanted && !marked.starts_with(space.mark)) marked.insert(0, space.mark);
    LOCKSTEP_ASSIGN_OR_RETURN(const std::string_view text, keep(std::move(marked)));
    if (!space.split) {
      next_.push_back({text, word.at_front});
      return ok_status();
    }
    literal_matches(text, space.mark, matches_);
    push_parts({text, word.at_front}, SplitBehavior::kMergedWithNext, /*invert=*/false);
    return ok_status();
  }

  void push_parts(const Word& word, SplitBehavior behavior, bool invert) {
    parts_of(matches_, word.text.size(), invert, parts_);
    text::apply(behavior, parts_);
    for (const Part& part : parts_) {
      if (part.begin == part.end) continue;
      next_.push_back(
          {word.text.substr(part.begin, part.end - part.begin), word.at_front && part.begin == 0});
    }
  }

  StatusOr<std::string_view> keep(std::string text) {
    made_bytes_ += text.size();
    if (made_bytes_ > kMaxMadeBytes) {
      return resource_exhausted("the pre-tokenizer makes more than {} bytes of the text",
                                kMaxMadeBytes);
    }
    return std::string_view(made_.emplace_back(std::move(text)));
  }

  RegexRun run_;
  std::deque<std::string>& made_;
  size_t made_bytes_ = 0;
  std::vector<Word> words_;
  std::vector<Word> next_;
  std::vector<MatchSpan> matches_;
  std::vector<Part> parts_;
};

Status Splitter::cut(std::string_view utf8, bool at_front, Words& words) const {
  words.words.clear();
  words.made.clear();
  Cutter cutter(utf8, at_front, words.made);
  for (const Step& step : steps_) LOCKSTEP_RETURN_IF_ERROR(cutter.apply(step));
  for (const Word& word : cutter.words()) {
    if (!word.text.empty()) words.words.push_back(word.text);
  }
  return ok_status();
}

}  // namespace lockstep::text
