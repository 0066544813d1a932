// Encoding speed: English text, then texts that are hard on merging and on regexes.
//
//   tokenizer_bench TOKENIZER.json [TEXT_FILE]
//
// Seconds are of this thread's processor time, medians of several runs. "x" is the time of 1 MB
// over that of 100 KB: 10 for linear.
#include <time.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "formats/text_files.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace lockstep::text {
namespace {

constexpr int kRuns = 7;
constexpr size_t kLarge = 1'000'000;
constexpr size_t kSmall = 100'000;
constexpr const char* kEnglish = "tests/data/public_domain_8k.txt";

double processor_seconds() {
  timespec time;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double median_seconds(const Tokenizer& tokenizer, const std::string& text) {
  std::vector<double> seconds;
  for (int run = 0; run < kRuns; ++run) {
    const double start = processor_seconds();
    const auto ids = tokenizer.encode(text);
    seconds.push_back(processor_seconds() - start);
    if (!ids.ok()) fmt::print(stderr, "{}\n", message_of(ids.status()));
  }
  std::ranges::nth_element(seconds, seconds.begin() + kRuns / 2);
  return seconds[kRuns / 2];
}

std::string repeated(std::string_view part, size_t bytes) {
  std::string text;
  while (text.size() + part.size() <= bytes) text += part;
  return text;
}

// Scattered bytes, each read as the Latin-1 character of its number.
std::string latin1(size_t bytes) {
  std::string text;
  for (uint64_t i = 0; text.size() + 2 <= bytes; ++i) {
    append_utf8(text, static_cast<char32_t>(i * 0x9e3779b97f4a7c15u >> 56));
  }
  return text;
}

Status run(const std::string& tokenizer_path, const std::string& text_path) {
  LOCKSTEP_ASSIGN_OR_RETURN(auto files, formats::read_text_files(tokenizer_path));
  LOCKSTEP_ASSIGN_OR_RETURN(const Vocabulary vocabulary, Vocabulary::create(files.vocabulary_size));
  LOCKSTEP_ASSIGN_OR_RETURN(const Tokenizer tokenizer,
                            Tokenizer::create(std::move(files.tokenizer), vocabulary));
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string sample, read_file(text_path, kLarge));
  const std::string english = repeated(sample, kLarge);
  fmt::print("english: {:.1f} MB/s\n",
             static_cast<double>(english.size()) / median_seconds(tokenizer, english) / 1e6);
  struct Hard {
    const char* name;
    std::function<std::string(size_t)> make;
  };
  const Hard hard[] = {{"one letter", [](size_t n) { return repeated("a", n); }},
                       {"spaces", [](size_t n) { return repeated(" ", n); }},
                       {"newlines", [](size_t n) { return repeated("\n", n); }},
                       {"one emoji", [](size_t n) { return repeated("\xf0\x9f\x99\x82", n); }},
                       {"latin-1", latin1}};
  for (const Hard& one : hard) {
    const double small = median_seconds(tokenizer, one.make(kSmall));
    const double large = median_seconds(tokenizer, one.make(kLarge));
    fmt::print("{}: 1 MB in {:.3f} s, {:.1f} x\n", one.name, large, large / small);
  }
  return ok_status();
}

}  // namespace
}  // namespace lockstep::text

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    fmt::print(stderr, "usage: tokenizer_bench TOKENIZER.json [TEXT_FILE]\n");
    return 2;
  }
  const auto status = lockstep::text::run(argv[1], argc == 3 ? argv[2] : lockstep::text::kEnglish);
  if (!status.ok()) fmt::print(stderr, "error: {}\n", lockstep::message_of(status));
  return status.ok() ? 0 : 1;
}
