#include "text/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "text/utf8.h"

namespace lockstep::text {
namespace {

constexpr uint32_t kMaxGroupNesting = 64;
// One position's steps. Backing out of a run of n spaces takes n, and n is at most a text's bytes.
constexpr uint32_t kMatchLimit = 20'000'000;
// Counted steps of a file's pattern, for a text of n bytes. A pattern of ten alternatives that
// matches everywhere needs about 30 a byte.
constexpr int64_t kBaseSteps = 1'000'000;
constexpr int64_t kStepsPerByte = 256;
constexpr size_t kJitStartBytes = 32 << 10;
constexpr size_t kJitStackBytes = 1 << 20;

template <auto kFree>
struct Deleter {
  template <class T>
  void operator()(T* p) const {
    kFree(p);
  }
};
using CompileContext = std::unique_ptr<pcre2_compile_context, Deleter<pcre2_compile_context_free>>;
using MatchContext = std::unique_ptr<pcre2_match_context, Deleter<pcre2_match_context_free>>;
using MatchData = std::unique_ptr<pcre2_match_data, Deleter<pcre2_match_data_free>>;
using JitStack = std::unique_ptr<pcre2_jit_stack, Deleter<pcre2_jit_stack_free>>;

// Counts the matcher's work: one for every item it tries and one for every byte it moves forward,
// so that neither backtracking nor repeated scanning is free.
struct StepCounter {
  int64_t left = 0;
  size_t start = 0;
  size_t position = 0;

  static int on_callout(pcre2_callout_block* block, void* self) {
    StepCounter& counter = *static_cast<StepCounter*>(self);
    if (block->start_match != counter.start) {
      counter.start = counter.position = block->start_match;
    }
    const size_t now = block->current_position;
    counter.left -= 1 + static_cast<int64_t>(now > counter.position ? now - counter.position : 0);
    counter.position = now;
    return counter.left < 0 ? PCRE2_ERROR_MATCHLIMIT : 0;
  }
};

Status match_error(int code) {
  std::array<PCRE2_UCHAR, 128> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return resource_exhausted("cutting the text into words: {}",
                            reinterpret_cast<const char*>(text.data()));
}

}  // namespace

struct RegexRun::State {
  MatchContext context{pcre2_match_context_create(nullptr)};
  MatchData data{pcre2_match_data_create(1, nullptr)};
  JitStack stack{pcre2_jit_stack_create(kJitStartBytes, kJitStackBytes, nullptr)};
  StepCounter counter;
};

RegexRun::RegexRun(size_t text_bytes) : state_(new State) {
  State& s = *state_;
  LOCKSTEP_CHECK(s.context != nullptr && s.data != nullptr && s.stack != nullptr);
  s.counter.left = kBaseSteps + kStepsPerByte * static_cast<int64_t>(text_bytes);
  pcre2_set_match_limit(s.context.get(), kMatchLimit);
  pcre2_jit_stack_assign(s.context.get(), nullptr, s.stack.get());
  pcre2_set_callout(s.context.get(), StepCounter::on_callout, &s.counter);
}
RegexRun::~RegexRun() = default;

struct Regex::Code {
  std::unique_ptr<pcre2_code, Deleter<pcre2_code_free>> code;
};

Regex::Regex(std::unique_ptr<const Code> code) : code_(std::move(code)) {}
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

StatusOr<Regex> Regex::create(std::string_view pattern, Trust trust) {
  if (pattern.size() > kMaxPatternBytes || !valid_utf8(pattern)) {
    return invalid_argument("regex of {} bytes; expected UTF-8 of at most {}", pattern.size(),
                            kMaxPatternBytes);
  }
  auto translated = pcre2_from_oniguruma(pattern);
  if (!translated.ok()) return annotate(translated.status(), "regex " + quote_text(pattern));

  CompileContext context(pcre2_compile_context_create(nullptr));
  LOCKSTEP_CHECK(context != nullptr);
  pcre2_set_parens_nest_limit(context.get(), kMaxGroupNesting);
  const uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_NO_UTF_CHECK | PCRE2_NEVER_BACKSLASH_C |
                           (trust == Trust::kFile ? PCRE2_AUTO_CALLOUT : 0u);
  int error = 0;
  size_t offset = 0;
  std::unique_ptr<pcre2_code, Deleter<pcre2_code_free>> code(
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated->data()), translated->size(), options,
                    &error, &offset, context.get()));
  if (code == nullptr) {
    std::array<PCRE2_UCHAR, 128> text{};
    pcre2_get_error_message(error, text.data(), text.size());
    return invalid_argument("regex {}: {}", quote_text(pattern),
                            reinterpret_cast<const char*>(text.data()));
  }
  pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);  // without it the same matches, slower
  return Regex(std::unique_ptr<const Code>(new Code{std::move(code)}));
}

Status Regex::find_all(std::string_view utf8, RegexRun& run,
                       std::vector<MatchSpan>& matches) const {
  RegexRun::State& state = *run.state_;
  matches.clear();
  state.counter.start = state.counter.position = 0;
  const auto subject = reinterpret_cast<PCRE2_SPTR>(utf8.data());
  const size_t* ends = pcre2_get_ovector_pointer(state.data.get());
  size_t at = 0;
  size_t last_end = std::string_view::npos;
  while (at <= utf8.size()) {
    const int found = pcre2_match(code_->code.get(), subject, utf8.size(), at, PCRE2_NO_UTF_CHECK,
                                  state.data.get(), state.context.get());
    if (found == PCRE2_ERROR_NOMATCH) break;
    if (found < 0) return match_error(found);
    const MatchSpan span{ends[0], ends[1]};
    const bool empty = span.begin == span.end;
    if (!empty || span.end != last_end) matches.push_back(span);
    last_end = span.end;
    at = span.end;
    if (empty) at += at < utf8.size() ? first_code_point(utf8.substr(at)).bytes : 1;
  }
  return ok_status();
}

}  // namespace lockstep::text
