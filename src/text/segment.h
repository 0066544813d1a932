// Text that knows where it came from.
//
// Special tokens are matched in template text only, so what a user types can never become a turn
// marker, whatever it spells.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep::text {

enum class Origin : uint8_t {
  kTemplate,  // written by whoever made the model, or one of our own closed lists
  kData,      // from a message, a tool, a document: anything a user can choose
};

struct Segment {
  std::string text;
  Origin origin = Origin::kData;
  friend bool operator==(const Segment&, const Segment&) = default;
};

}  // namespace lockstep::text
