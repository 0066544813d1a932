// The tensors of a checkpoint by name. One table for every container format.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/tensor_view.h"
#include "formats/name_index.h"

namespace lockstep::formats {

// Most tensors of one file and of one sharded checkpoint.
inline constexpr uint64_t kMaxTensorsPerFile = uint64_t{1} << 17;
inline constexpr uint64_t kMaxTensors = uint64_t{1} << 20;
inline constexpr uint64_t kMaxModelFileBytes = uint64_t{1} << 42;

struct NamedTensor {
  std::string name;
  TensorView view;
};

// Thread rule: immutable. Ownership: names are its own, bytes are borrowed.
class TensorTable {
 public:
  TensorTable() = default;
  // Keeps the order; invalid_argument naming a tensor that occurs twice.
  static StatusOr<TensorTable> create(std::vector<NamedTensor> tensors);

  std::span<const NamedTensor> tensors() const { return tensors_; }
  const TensorView* find(std::string_view name) const;  // null: absent

 private:
  auto name_at() const;
  std::vector<NamedTensor> tensors_;
  NameIndex by_name_;
};

}  // namespace lockstep::formats
