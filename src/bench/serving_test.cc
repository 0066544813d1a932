#include "bench/serving.h"

#include <gtest/gtest.h>

#include "engine/testing/golden.h"
#include "engine/testing/loaded.h"
#include "formats/testing/refusal.h"

namespace lockstep::bench {
namespace {

using formats::expect_refused;

TEST(Trace, EntriesAreChecked) {
  expect_refused(parse_trace("[]"), "a list of 1 to");
  expect_refused(parse_trace("{}"), "a list of 1 to");
  expect_refused(parse_trace("[[0, 0, 5]]"), "trace[0]");
  expect_refused(parse_trace("[[0, 0, 5, 1], [0, 0, 0, 1]]"), "trace[1][2]");
  expect_refused(parse_trace("[[0, 6, 5, 1]]"), "shares 6 tokens of a prompt of 5");
  expect_refused(parse_trace("[[0, 0, 5, 99999999]]"), "trace[0][3]");
  EXPECT_EQ(parse_trace("[[0, 5, 5, 1], [1, 0, 2, 3]]")->size(), 2u);
}

TEST(ServeTrace, CountsWhatItServed) {
  auto loaded =
      engine::testing::load(engine::testing::golden_path("llama"),
                            engine::testing::make({.name = "cpu", .isa = "scalar", .threads = 1},
                                                  engine::testing::profile_of(Arithmetic::kBF16)));
  const auto trace = parse_trace("[[3, 40, 50, 4], [3, 40, 60, 5], [1, 0, 9, 6]]").value();
  const auto result =
      serve_trace(*loaded.model, *loaded.device, {.trace = trace, .concurrent = 1}).value();
  EXPECT_EQ(result.requests, 3);
  EXPECT_EQ(result.prompt_tokens, 50 + 60 + 9);
  EXPECT_EQ(result.reply_tokens, 4 + 5 + 6);
  EXPECT_EQ(result.cached_tokens, 32);  // the shared page of the second
  EXPECT_EQ(result.first_token_seconds.size(), 3u);
  EXPECT_EQ(result.between_token_seconds.size(), 3u + 4 + 5);
}

TEST(Percentile, IsTheValueAtItsRank) {
  EXPECT_EQ(percentile({4, 1, 3, 2}, 0.5), 2);
  EXPECT_EQ(percentile({4, 1, 3, 2}, 0.99), 4);
  EXPECT_EQ(percentile({7}, 0.01), 7);
}

}  // namespace
}  // namespace lockstep::bench
