#include "device/testing/row_count_device.h"

#include "device/testing/row_contract.h"

namespace lockstep::device::contract {
namespace {

struct SlicedPlan : LinearPlan {
  explicit SlicedPlan(std::unique_ptr<LinearPlan> from)
      : LinearPlan(from->outputs(), from->inputs()), whole(std::move(from)) {}
  std::unique_ptr<LinearPlan> whole;
  std::unique_ptr<LinearPlan> first_half;  // null where the weight is not cut
  std::unique_ptr<LinearPlan> second_half;
  std::unique_ptr<Buffer> second_sum;
};

// Columns [begin, end) of a plain matrix.
std::vector<std::byte> columns(const TensorView& weight, int64_t begin, int64_t end) {
  const int64_t element = dtype_info(weight.dtype).block_bytes;
  std::vector<std::byte> bytes;
  for (int64_t n = 0; n < weight.shape[0]; ++n) {
    const auto row = weight.bytes.begin() + n * weight.shape[1] * element;
    bytes.insert(bytes.end(), row + begin * element, row + end * element);
  }
  return bytes;
}

}  // namespace

StatusOr<std::unique_ptr<LinearPlan>> RowCountDevice::prepare(
    std::span<const LinearWeight> stacked) {
  LOCKSTEP_ASSIGN_OR_RETURN(auto whole, inner().prepare(stacked));
  auto plan = std::make_unique<SlicedPlan>(std::move(whole));
  const TensorView& weight = stacked[0].weight;
  if (stacked.size() > 1 || stacked[0].bias || dtype_info(weight.dtype).quantised() ||
      plan->inputs() < 2) {
    return plan;
  }
  const auto half = [&](int64_t begin, int64_t end) -> StatusOr<std::unique_ptr<LinearPlan>> {
    const std::vector<std::byte> bytes = columns(weight, begin, end);
    const LinearWeight part = {.weight = {weight.dtype, {weight.shape[0], end - begin}, bytes},
                               .bias = {}};
    return inner().prepare({&part, 1});
  };
  const int64_t middle = plan->inputs() / 2;
  LOCKSTEP_ASSIGN_OR_RETURN(plan->first_half, half(0, middle));
  LOCKSTEP_ASSIGN_OR_RETURN(plan->second_half, half(middle, plan->inputs()));
  LOCKSTEP_ASSIGN_OR_RETURN(plan->second_sum, alloc(kTokens, static_cast<int>(plan->outputs())));
  return plan;
}

void RowCountDevice::embed(const StepView& step, const LinearPlan& table, float scale, View out) {
  inner().embed(step, *static_cast<const SlicedPlan&>(table).whole, scale, out);
}

void RowCountDevice::linear(const StepView& step, RowSet rows, const LinearPlan& plan, View in,
                            View out) {
  const auto& sliced = static_cast<const SlicedPlan&>(plan);
  if (rows == RowSet::kLogits || step.rows() <= kWholeRows || sliced.first_half == nullptr) {
    inner().linear(step, rows, *sliced.whole, in, out);
    return;
  }
  const auto middle = static_cast<int>(sliced.first_half->inputs());
  inner().linear(step, rows, *sliced.first_half, View(*in.buffer, in.first, middle), out);
  inner().linear(step, rows, *sliced.second_half,
                 View(*in.buffer, in.first + middle, in.width - middle), *sliced.second_sum);
  inner().add(step, out, *sliced.second_sum);
}

void RowCountDevice::attend(const StepView& step, const PagePool& pool, StateLayer layer,
                            const AttendSpec& spec, View q, View out) {
  AttendSpec changed = spec;
  if (step.rows() > kWholeRows && spec.soft_cap == 0.0f) changed.soft_cap = 1000.0f;
  inner().attend(step, pool, layer, changed, q, out);
}

}  // namespace lockstep::device::contract
