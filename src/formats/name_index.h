// Look-up by name in a list that keeps its own order: a sorted index, so that no choice of names
// makes it slow, and the place where a name that occurs twice is refused.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/text.h"

namespace lockstep::formats {

// `name_at(i)` gives a string or string_view for i in [0, count), and the same one at each call.
class NameIndex {
 public:
  NameIndex() = default;

  // invalid_argument "<what> 'name' occurs twice". REQUIRES count < 2^32.
  template <class NameAt>
  static StatusOr<NameIndex> create(size_t count, std::string_view what, const NameAt& name_at) {
    NameIndex out;
    out.sorted_.resize(count);
    std::iota(out.sorted_.begin(), out.sorted_.end(), 0u);
    std::sort(out.sorted_.begin(), out.sorted_.end(),
              [&](uint32_t a, uint32_t b) { return name_at(a) < name_at(b); });
    const auto twice =
        std::adjacent_find(out.sorted_.begin(), out.sorted_.end(),
                           [&](uint32_t a, uint32_t b) { return name_at(a) == name_at(b); });
    if (twice == out.sorted_.end()) return out;
    return invalid_argument("{} {} occurs twice", what, quote_text(name_at(*twice)));
  }

  template <class NameAt>
  std::optional<uint32_t> find(std::string_view wanted, const NameAt& name_at) const {
    const auto it =
        std::lower_bound(sorted_.begin(), sorted_.end(), wanted,
                         [&](uint32_t i, std::string_view w) { return name_at(i) < w; });
    if (it == sorted_.end() || name_at(*it) != wanted) return std::nullopt;
    return *it;
  }

 private:
  std::vector<uint32_t> sorted_;
};

}  // namespace lockstep::formats
