#include "formats/tensor_table.h"

#include <algorithm>
#include <numeric>

#include "base/text.h"

namespace lockstep::formats {

StatusOr<TensorTable> TensorTable::create(std::vector<NamedTensor> tensors) {
  TensorTable out;
  out.tensors_ = std::move(tensors);
  out.by_name_.resize(out.tensors_.size());
  std::iota(out.by_name_.begin(), out.by_name_.end(), 0u);
  const auto name = [&](uint32_t i) -> const std::string& { return out.tensors_[i].name; };
  std::sort(out.by_name_.begin(), out.by_name_.end(),
            [&](uint32_t a, uint32_t b) { return name(a) < name(b); });
  const auto twice = std::adjacent_find(out.by_name_.begin(), out.by_name_.end(),
                                        [&](uint32_t a, uint32_t b) { return name(a) == name(b); });
  if (twice != out.by_name_.end()) {
    return invalid_argument("tensor {} occurs twice", quoted(name(*twice)));
  }
  return out;
}

const TensorView* TensorTable::find(std::string_view name) const {
  const auto it = std::lower_bound(
      by_name_.begin(), by_name_.end(), name,
      [&](uint32_t i, std::string_view wanted) { return tensors_[i].name < wanted; });
  if (it == by_name_.end() || tensors_[*it].name != name) return nullptr;
  return &tensors_[*it].view;
}

}  // namespace lockstep::formats
