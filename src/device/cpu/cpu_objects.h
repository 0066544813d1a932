// What CpuDevice hands out besides plans and pools.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/checked.h"
#include "device/cpu/memory.h"
#include "device/device.h"

namespace lockstep::device::cpu {

// Rows start on cache lines.
class CpuBuffer final : public Buffer {
 public:
  static StatusOr<std::unique_ptr<Buffer>> create(int rows, int width) {
    if (rows < 0 || width < 1) {
      return invalid_argument("a buffer of {} rows of {}; allowed: at least 0 and 1", rows, width);
    }
    const ptrdiff_t stride = round_up(width, kRowAlignment);
    const auto bytes = static_cast<uint64_t>(rows) * static_cast<uint64_t>(stride) * sizeof(float);
    LOCKSTEP_ASSIGN_OR_RETURN(Memory memory, Memory::map(bytes, "activations", PageSize::kNormal));
    return std::unique_ptr<Buffer>(new CpuBuffer(rows, width, stride, std::move(memory)));
  }

  ptrdiff_t stride() const { return stride_; }
  float* data() const { return reinterpret_cast<float*>(memory_.data()); }

 private:
  static constexpr int64_t kRowAlignment = 16;  // floats
  CpuBuffer(int rows, int width, ptrdiff_t stride, Memory memory)
      : Buffer(rows, width), stride_(stride), memory_(std::move(memory)) {}
  ptrdiff_t stride_;
  Memory memory_;
};

// A view as pointers: row r starts at data + r * stride.
struct Rows {
  float* data;
  ptrdiff_t stride;
  int width;

  explicit Rows(const View& view)
      : data(static_cast<const CpuBuffer*>(view.buffer)->data() + view.first),
        stride(static_cast<const CpuBuffer*>(view.buffer)->stride()),
        width(view.width) {}
  float* row(int64_t r) const { return data + r * stride; }
};

class CpuVector final : public Vector {
 public:
  explicit CpuVector(std::span<const float> values)
      : Vector(static_cast<int>(values.size())), values_(values.begin(), values.end()) {}
  const float* data() const { return values_.data(); }

 private:
  std::vector<float> values_;
};

// Holds the angles of the rows of one step besides its spec: they are made by the first layer of a
// step that asks and used by the rest, on the engine's one thread.
class CpuRopePlan final : public RopePlan {
 public:
  explicit CpuRopePlan(RopeSpec spec) : spec_(std::move(spec)) {}
  const RopeSpec& spec() const { return spec_; }
  int pairs() const { return static_cast<int>(spec_.inverse_frequencies.size()); }

  struct Angles {
    int64_t step = 0;            // CpuStep::serial they belong to
    std::vector<float> cosines;  // [rows][pairs]
    std::vector<float> sines;
  };
  Angles& angles() const { return angles_; }

 private:
  RopeSpec spec_;
  mutable Angles angles_;
};

}  // namespace lockstep::device::cpu
