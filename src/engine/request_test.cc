#include "engine/request.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "formats/testing/refusal.h"

namespace lockstep::engine {
namespace {

using formats::expect_refused;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
const Vocabulary kVocabulary = Vocabulary::create(100).value();
const RequestLimits kLimits{.vocabulary = kVocabulary, .max_positions = 50, .max_choices = 4};

TokenId id(int64_t value) { return kVocabulary.admit(value).value(); }

RequestFields good() {
  RequestFields fields;
  fields.prompt = {id(1), id(2)};
  fields.max_tokens = 10;
  return fields;
}

// Good fields with one change.
template <class Change>
StatusOr<Request> with(const Change& change) {
  RequestFields fields = good();
  change(fields);
  return Request::create(std::move(fields), kLimits);
}

TEST(Request, LengthsAreChecked) {
  expect_refused(with([](auto& f) { f.prompt.clear(); }), "prompt is empty");
  expect_refused(with([](auto& f) { f.prompt.assign(51, id(1)); }), "51 tokens");
  for (const int64_t n : {int64_t{0}, int64_t{-1}, int64_t{1} << 40, INT64_MIN}) {
    expect_refused(with([&](auto& f) { f.max_tokens = n; }), "max_tokens");
  }
  EXPECT_TRUE(with([](auto& f) {
                f.max_tokens = 0;
                f.prompt_logprobs = true;
              }).ok());
  expect_refused(with([](auto& f) { f.min_tokens = 11; }), "min_tokens");
  for (const int64_t n : {0, -1, 5, 1000000}) {
    expect_refused(with([&](auto& f) { f.choices = n; }), "n ");
  }
}

TEST(Request, NumbersOutsideTheirRangesAreRefusedByName) {
  for (const double x : {kNaN, kInfinity, -1.0, 1e308, 101.0}) {
    expect_refused(with([&](auto& f) { f.sampling.temperature = x; }), "temperature");
    expect_refused(with([&](auto& f) { f.repetition_penalty = x; }), "repetition_penalty");
  }
  for (const double x : {kNaN, kInfinity, -2.1, 2.1, 1e308}) {
    expect_refused(with([&](auto& f) { f.frequency_penalty = x; }), "frequency_penalty");
    expect_refused(with([&](auto& f) { f.presence_penalty = x; }), "presence_penalty");
  }
  expect_refused(with([](auto& f) { f.penalty_window = -2; }), "penalty window");
  expect_refused(with([](auto& f) { f.logprobs = 21; }), "logprobs");
  expect_refused(with([](auto& f) { f.logprobs = -1; }), "logprobs");
  expect_refused(with([](auto& f) { f.priority = 1001; }), "priority");
}

TEST(Request, ListsAreBounded) {
  expect_refused(with([](auto& f) { f.biases.assign(1000000, {id(1), 1.0f}); }), "logit_bias");
  for (const float x : {NAN, INFINITY, 100.5f, -1e30f}) {
    expect_refused(with([&](auto& f) { f.biases = {{id(1), x}}; }), "logit_bias");
  }
  expect_refused(with([](auto& f) { f.allowed.emplace(); }), "allowed_token_ids is empty");
  expect_refused(with([](auto& f) { f.stop_strings.assign(100000, "x"); }), "stop");
  expect_refused(with([](auto& f) { f.stop_strings = {""}; }), "stop string");
  expect_refused(with([](auto& f) { f.stop_strings = {std::string(1025, 'x')}; }), "stop string");
  expect_refused(with([](auto& f) { f.stop_ids.assign(1025, id(1)); }), "stop_token_ids");
  expect_refused(with([](auto& f) { f.cache_salt.assign(257, 'x'); }), "cache_salt");
}

TEST(Request, ReplyEndsWhereTheContextDoes) {
  EXPECT_EQ(with([](auto&) {})->max_positions(), 11);  // the last token needs none
  EXPECT_EQ(with([](auto& f) { f.max_tokens = 1000; })->max_positions(), 50);
}

TEST(Request, SeedIsDrawnOnceWhereNoneIsGiven) {
  const auto sampled = with([](auto& f) { f.sampling.temperature = 1.0; });
  EXPECT_EQ(sampled->sampling(0).seed(), sampled->seed());
  EXPECT_NE(sampled->sampling(1).seed(), sampled->seed());
  const auto given = with([](auto& f) {
    f.seed = 5;
    f.first_choice = 2;
  });
  EXPECT_EQ(given->seed(), 5u);
  EXPECT_EQ(given->sampling(1).seed(), choice_seed(5, 3));
}

TEST(Request, LastBiasOfATokenCounts) {
  const auto request = with([](auto& f) {
    f.biases = {{id(7), 1.0f}, {id(3), 2.0f}, {id(7), 3.0f}};
  });
  const auto biases = request->edits().biases;
  ASSERT_EQ(biases.size(), 2u);
  EXPECT_EQ(biases[0].token, id(3));
  EXPECT_EQ(biases[1].bias, 3.0f);
}

}  // namespace
}  // namespace lockstep::engine
