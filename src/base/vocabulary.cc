#include "base/vocabulary.h"

namespace lockstep {

StatusOr<Vocabulary> Vocabulary::create(int64_t size) {
  if (!(1 <= size && size <= kMaxSize)) {
    return invalid_argument("vocabulary size {} is outside [1, {}]", size, kMaxSize);
  }
  return Vocabulary(static_cast<int32_t>(size));
}

StatusOr<TokenId> Vocabulary::admit(int64_t id) const {
  if (!(0 <= id && id < size_)) {
    return out_of_range("token id {} is outside [0, {}]", id, size_ - 1);
  }
  return TokenId(static_cast<int32_t>(id));
}

StatusOr<std::vector<TokenId>> Vocabulary::admit_all(std::span<const int64_t> ids) const {
  std::vector<TokenId> out;
  out.reserve(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    auto id = admit(ids[i]);
    if (!id.ok()) return annotate(id.status(), fmt::format("token {}", i));
    out.push_back(*id);
  }
  return out;
}

}  // namespace lockstep
