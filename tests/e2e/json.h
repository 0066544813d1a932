// Test helper: a command's standard output as the one JSON object that it must be.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/json.h"

namespace lockstep::e2e {

// Every reader fails the test when the member is missing or of another kind.
class JsonOut {
 public:
  explicit JsonOut(std::string_view out);

  bool has(std::string_view key) const;
  std::string text(std::string_view key) const;
  int64_t integer(std::string_view key) const;
  std::vector<int64_t> integers(std::string_view key) const;

 private:
  const formats::JsonValue& member(std::string_view key) const;

  formats::JsonValue root_;
};

}  // namespace lockstep::e2e
