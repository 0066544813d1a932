#include "tools/ids_file.h"

#include <limits>

#include "base/mapped_file.h"
#include "formats/json.h"

namespace lockstep::tools {
namespace {

constexpr formats::JsonLimits kLimits = {
    .max_bytes = uint64_t{256} << 20, .max_values = uint64_t{1} << 24, .max_depth = 4};

StatusOr<std::vector<TokenId>> admit_list(const formats::JsonArray& list, size_t index,
                                          const Vocabulary& vocabulary) {
  if (list.empty()) return invalid_argument("list {} is empty; at least one id is needed", index);
  std::vector<TokenId> ids;
  ids.reserve(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string where = fmt::format("list {}, token {}", index, i);
    LOCKSTEP_ASSIGN_OR_RETURN(
        const int64_t value,
        formats::json_integer(list[i], where, std::numeric_limits<int64_t>::min(),
                              std::numeric_limits<int64_t>::max()));
    auto id = vocabulary.admit(value);
    if (!id.ok()) return annotate(id.status(), where);
    ids.push_back(*id);
  }
  return ids;
}

}  // namespace

StatusOr<std::vector<std::vector<TokenId>>> parse_ids(std::string_view json,
                                                      const Vocabulary& vocabulary) {
  LOCKSTEP_ASSIGN_OR_RETURN(const formats::JsonValue root, formats::parse_json(json, kLimits));
  const formats::JsonArray* lists = root.if_array();
  if (lists == nullptr || lists->empty()) {
    return invalid_argument("expected a list of lists of token ids, [[1, 2, 3], ...]");
  }
  std::vector<std::vector<TokenId>> out;
  for (size_t i = 0; i < lists->size(); ++i) {
    const formats::JsonArray* list = (*lists)[i].if_array();
    if (list == nullptr) {
      return invalid_argument("list {} is {}; expected a list of token ids", i,
                              (*lists)[i].describe());
    }
    LOCKSTEP_ASSIGN_OR_RETURN(auto ids, admit_list(*list, i, vocabulary));
    out.push_back(std::move(ids));
  }
  return out;
}

StatusOr<std::vector<std::vector<TokenId>>> read_ids_file(const std::string& path,
                                                          const Vocabulary& vocabulary) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string text, read_file(path, kLimits.max_bytes));
  auto lists = parse_ids(text, vocabulary);
  if (!lists.ok()) return annotate(lists.status(), path);
  return lists;
}

}  // namespace lockstep::tools
