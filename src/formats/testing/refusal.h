// Test helpers: what a refusal looks like, and hostile variants of good input.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>

#include "base/status.h"

namespace lockstep::formats {

// An error, one line, whose message holds `part`.
inline void expect_refused(const Status& status, std::string_view part) {
  ASSERT_FALSE(status.ok()) << "accepted; expected an error with: " << part;
  const std::string message = message_of(status);
  EXPECT_THAT(message, testing::HasSubstr(std::string(part)));
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

template <class T>
void expect_refused(const StatusOr<T>& result, std::string_view part) {
  expect_refused(result.status(), part);
}

// Calls parse(variant), a Status or StatusOr, on `good` cut at every length, which must be refused,
// and with every single bit of its first `header_bytes` flipped, of which nothing is expected but
// an answer: no crash, and within a ceiling that only a runaway loop or allocation reaches.
template <class Parse>
void survive_cuts_and_flips(const std::string& good, size_t header_bytes, const Parse& parse) {
  const auto accepts = [&](const std::string& input) {
    const auto start = std::chrono::steady_clock::now();
    const bool accepted = parse(input).ok();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    EXPECT_LT(seconds.count(), 5.0);
    return accepted;
  };
  ASSERT_TRUE(accepts(good));
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(accepts(good.substr(0, length))) << "cut at " << length;
  }
  std::string flipped = good;
  for (size_t bit = 0; bit < header_bytes * 8; ++bit) {
    SCOPED_TRACE(bit);
    flipped[bit / 8] ^= static_cast<char>(1 << bit % 8);
    accepts(flipped);
    flipped[bit / 8] = good[bit / 8];
  }
}

}  // namespace lockstep::formats
