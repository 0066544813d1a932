#include "formats/tensor_table.h"

namespace lockstep::formats {

auto TensorTable::name_at() const {
  return [this](size_t i) -> const std::string& { return tensors_[i].name; };
}

StatusOr<TensorTable> TensorTable::create(std::vector<NamedTensor> tensors) {
  TensorTable out;
  out.tensors_ = std::move(tensors);
  LOCKSTEP_ASSIGN_OR_RETURN(out.by_name_,
                            NameIndex::create(out.tensors_.size(), "tensor", out.name_at()));
  return out;
}

const TensorView* TensorTable::find(std::string_view name) const {
  const auto i = by_name_.find(name, name_at());
  return i ? &tensors_[*i].view : nullptr;
}

}  // namespace lockstep::formats
