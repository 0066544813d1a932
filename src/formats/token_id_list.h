// A field that holds one token id, a list of them, or nothing.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "formats/json.h"

namespace lockstep::formats {

// Ids in [0, 2^31); empty when the field is absent or null. At most 256 ids.
StatusOr<std::vector<int64_t>> read_token_id_list(const JsonFields& fields, std::string_view key);

}  // namespace lockstep::formats
