#include "device/check/check_device.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

namespace lockstep::device {
namespace {

// What the two devices made for one call. A view of either is made by side().
template <class Base>
struct Pair : Base {
  template <class... Args>
  explicit Pair(std::unique_ptr<Base> a, std::unique_ptr<Base> b, Args&&... args)
      : Base(std::forward<Args>(args)...), objects{std::move(a), std::move(b)} {}
  std::unique_ptr<Base> objects[2];
};

struct BufferPair : Pair<Buffer> {
  using Pair::Pair;
};
struct VectorPair : Pair<Vector> {
  using Pair::Pair;
};
struct RopePair : Pair<RopePlan> {
  using Pair::Pair;
};
struct PoolPair : Pair<PagePool> {
  using Pair::Pair;
};
struct LinearPair : Pair<LinearPlan> {
  LinearPair(std::unique_ptr<LinearPlan> a, std::unique_ptr<LinearPlan> b, int64_t outputs,
             int64_t inputs)
      : Pair(std::move(a), std::move(b), outputs, inputs) {
    bytes_ = objects[0]->bytes();
  }
};

template <class Base>
Base& side(int i, Base& pair) {
  return *static_cast<Pair<Base>&>(pair).objects[i];
}
template <class Base>
const Base& side(int i, const Base& pair) {
  return *static_cast<const Pair<Base>&>(pair).objects[i];
}
View side(int i, View view) { return View(side(i, *view.buffer), view.first, view.width); }

}  // namespace

std::string CheckDevice::description() const {
  return fmt::format("{} checked against {}", devices_[0]->description(),
                     devices_[1]->description());
}

// ---- Load time

StatusOr<std::unique_ptr<Buffer>> CheckDevice::alloc(int max_rows, int width) {
  LOCKSTEP_ASSIGN_OR_RETURN(auto a, devices_[0]->alloc(max_rows, width));
  LOCKSTEP_ASSIGN_OR_RETURN(auto b, devices_[1]->alloc(max_rows, width));
  return std::make_unique<BufferPair>(std::move(a), std::move(b), max_rows, width);
}

StatusOr<std::unique_ptr<Vector>> CheckDevice::upload(std::span<const float> values) {
  LOCKSTEP_ASSIGN_OR_RETURN(auto a, devices_[0]->upload(values));
  LOCKSTEP_ASSIGN_OR_RETURN(auto b, devices_[1]->upload(values));
  return std::make_unique<VectorPair>(std::move(a), std::move(b), static_cast<int>(values.size()));
}

StatusOr<std::unique_ptr<LinearPlan>> CheckDevice::prepare(std::span<const LinearWeight> stacked) {
  LOCKSTEP_ASSIGN_OR_RETURN(auto a, devices_[0]->prepare(stacked));
  LOCKSTEP_ASSIGN_OR_RETURN(auto b, devices_[1]->prepare(stacked));
  const int64_t outputs = a->outputs();
  const int64_t inputs = a->inputs();
  return std::make_unique<LinearPair>(std::move(a), std::move(b), outputs, inputs);
}

StatusOr<std::unique_ptr<RopePlan>> CheckDevice::prepare_rope(const RopeSpec& spec) {
  LOCKSTEP_ASSIGN_OR_RETURN(auto a, devices_[0]->prepare_rope(spec));
  LOCKSTEP_ASSIGN_OR_RETURN(auto b, devices_[1]->prepare_rope(spec));
  return std::make_unique<RopePair>(std::move(a), std::move(b));
}

StatusOr<std::unique_ptr<PagePool>> CheckDevice::alloc_pages(const StateLayout& layout,
                                                             std::span<const int> pages) {
  LOCKSTEP_ASSIGN_OR_RETURN(auto a, devices_[0]->alloc_pages(layout, pages));
  LOCKSTEP_ASSIGN_OR_RETURN(auto b, devices_[1]->alloc_pages(layout, pages));
  return std::make_unique<PoolPair>(std::move(a), std::move(b), layout,
                                    std::vector<int>(pages.begin(), pages.end()));
}

// ---- A step

void CheckDevice::Step::assign(const StepView& first, const StepView& second) {
  inner[0] = &first;
  inner[1] = &second;
  rows_ = first.rows();
  logit_rows_ = first.logit_rows();
}

void CheckDevice::copy_pages(PagePool& pool, std::span<const PageCopy> copies) {
  for (int i : {0, 1}) devices_[i]->copy_pages(side(i, pool), copies);
}

const StepView& CheckDevice::begin_step(const StepInput& input) {
  step_.assign(devices_[0]->begin_step(input), devices_[1]->begin_step(input));
  ops_ = 0;
  difference_.clear();
  return step_;
}

Status CheckDevice::end_step() {
  for (Device* device : devices_) LOCKSTEP_RETURN_IF_ERROR(device->end_step());
  if (difference_.empty() &&
      !std::equal(devices_[0]->sampled().begin(), devices_[0]->sampled().end(),
                  devices_[1]->sampled().begin(), devices_[1]->sampled().end())) {
    difference_ = "sampled tokens differ";
  }
  if (difference_.empty()) return ok_status();
  return internal_error("{}: {}", description(), difference_);
}

template <class Call>
void CheckDevice::run(const char* op, RowSet rows, View out, const Call& call) {
  for (int i : {0, 1}) call(i, *devices_[i], *step_.inner[i]);
  ++ops_;
  if (difference_.empty()) compare(op, row_count(step_, rows), out);
}

void CheckDevice::compare(const char* op, int rows, View out) {
  std::vector<float> a(out.buffer->width());
  std::vector<float> b(out.buffer->width());
  for (int r = 0; r < rows; ++r) {
    devices_[0]->read(side(0, *out.buffer), r, a);
    devices_[1]->read(side(1, *out.buffer), r, b);
    for (int i = out.first; i < out.first + out.width; ++i) {
      if (std::bit_cast<uint32_t>(a[i]) == std::bit_cast<uint32_t>(b[i])) continue;
      difference_ = fmt::format("op {} of the step, {}: row {} column {} is {:a} and {:a}", ops_,
                                op, r, i - out.first, a[i], b[i]);
      return;
    }
  }
}

void CheckDevice::embed(const StepView&, const LinearPlan& table, float scale, View out) {
  run("embed", RowSet::kAll, out, [&](int i, Device& device, const StepView& step) {
    device.embed(step, side(i, table), scale, side(i, out));
  });
}

void CheckDevice::rms_norm(const StepView&, RowSet rows, View in, const Vector& weight, float eps,
                           View out) {
  run("rms_norm", rows, out, [&](int i, Device& device, const StepView& step) {
    device.rms_norm(step, rows, side(i, in), side(i, weight), eps, side(i, out));
  });
}

void CheckDevice::linear(const StepView&, RowSet rows, const LinearPlan& plan, View in, View out) {
  run("linear", rows, out, [&](int i, Device& device, const StepView& step) {
    device.linear(step, rows, side(i, plan), side(i, in), side(i, out));
  });
}

// K and V go into pages, which only `attend` reads: a difference in them shows there.
void CheckDevice::rope_and_append(const StepView&, const RopePlan* rope, PagePool& pool,
                                  StateLayer layer, View q, View k, View v) {
  run("rope_and_append", RowSet::kAll, q, [&](int i, Device& device, const StepView& step) {
    const RopePlan* plan = rope == nullptr ? nullptr : &side(i, *rope);
    device.rope_and_append(step, plan, side(i, pool), layer, side(i, q), side(i, k), side(i, v));
  });
}

void CheckDevice::attend(const StepView&, const PagePool& pool, StateLayer layer,
                         const AttendSpec& spec, View q, View out) {
  run("attend", RowSet::kAll, out, [&](int i, Device& device, const StepView& step) {
    device.attend(step, side(i, pool), layer, spec, side(i, q), side(i, out));
  });
}

void CheckDevice::gated_activation(const StepView&, GatedActivation kind, View gate, View up,
                                   View out) {
  run("gated_activation", RowSet::kAll, out, [&](int i, Device& device, const StepView& step) {
    device.gated_activation(step, kind, side(i, gate), side(i, up), side(i, out));
  });
}

void CheckDevice::add(const StepView&, View x, View y) {
  run("add", RowSet::kAll, x, [&](int i, Device& device, const StepView& step) {
    device.add(step, side(i, x), side(i, y));
  });
}

void CheckDevice::gather_logit_rows(const StepView&, View in, View out) {
  run("gather_logit_rows", RowSet::kLogits, out, [&](int i, Device& device, const StepView& step) {
    device.gather_logit_rows(step, side(i, in), side(i, out));
  });
}

void CheckDevice::soft_cap(const StepView&, float cap, View x) {
  run("soft_cap", RowSet::kLogits, x,
      [&](int i, Device& device, const StepView& step) { device.soft_cap(step, cap, side(i, x)); });
}

void CheckDevice::sample(const StepView&, View logits) {
  run("sample", RowSet::kLogits, logits,
      [&](int i, Device& device, const StepView& step) { device.sample(step, side(i, logits)); });
}

void CheckDevice::read(const Buffer& buffer, int row, std::span<float> out) const {
  devices_[0]->read(side(0, buffer), row, out);
}

}  // namespace lockstep::device
