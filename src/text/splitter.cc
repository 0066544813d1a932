#include "text/splitter.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "formats/pre_tokenizers.h"

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

}  // namespace

StatusOr<Splitter> Splitter::create(formats::PreTokenizer pre,
                                    std::span<const formats::Split> custom) {
  const auto splits = pre == formats::PreTokenizer::kCustom ? custom : formats::splits_of(pre);
  if (splits.size() > kMaxSplits) {
    return invalid_argument("pre-tokenizer has {} splits; at most {} are allowed", splits.size(),
                            kMaxSplits);
  }
  Splitter splitter;
  for (const formats::Split& split : splits) {
    const auto trust =
        formats::is_known_regex(split.regex) ? Regex::Trust::kOwn : Regex::Trust::kFile;
    LOCKSTEP_ASSIGN_OR_RETURN(Regex regex, Regex::create(split.regex, trust));
    splitter.steps_.push_back({std::move(regex), split.behavior, split.invert});
  }
  return splitter;
}

Status Splitter::cut(std::string_view utf8, std::vector<std::string_view>& words) const {
  std::vector<std::string_view> from{utf8};
  std::vector<std::string_view> to;
  std::vector<MatchSpan> matches;
  std::vector<Part> parts;
  RegexRun run(utf8.size());
  for (const Step& step : steps_) {
    to.clear();
    for (const std::string_view text : from) {
      LOCKSTEP_RETURN_IF_ERROR(step.regex.find_all(text, run, matches));
      parts_of(matches, text.size(), step.invert, parts);
      apply(step.behavior, parts);
      for (const Part& part : parts) {
        if (part.begin < part.end) to.push_back(text.substr(part.begin, part.end - part.begin));
      }
    }
    std::swap(from, to);
  }
  words.insert(words.end(), from.begin(), from.end());
  return ok_status();
}

}  // namespace lockstep::text
