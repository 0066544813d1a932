#include "formats/token_id_list.h"

#include <limits>

namespace lockstep::formats {

StatusOr<std::vector<int64_t>> read_token_id_list(const JsonFields& fields, std::string_view key) {
  constexpr int64_t kMaxId = std::numeric_limits<int32_t>::max();
  constexpr size_t kMaxIds = 256;
  std::vector<int64_t> ids;
  const JsonValue* value = fields.find(key);
  if (value == nullptr) return ids;
  const std::string path = fields.path_of(key);
  const JsonArray* list = value->if_array();
  if (list == nullptr) {
    LOCKSTEP_ASSIGN_OR_RETURN(const int64_t id, json_integer(*value, path, 0, kMaxId));
    ids.push_back(id);
    return ids;
  }
  if (list->size() > kMaxIds) {
    return invalid_argument("{} has {} ids; at most {} are allowed", path, list->size(), kMaxIds);
  }
  for (size_t i = 0; i < list->size(); ++i) {
    LOCKSTEP_ASSIGN_OR_RETURN(const int64_t id,
                              json_integer((*list)[i], fmt::format("{}[{}]", path, i), 0, kMaxId));
    ids.push_back(id);
  }
  return ids;
}

}  // namespace lockstep::formats
