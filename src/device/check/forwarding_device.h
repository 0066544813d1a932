// A device that passes every call on to another: the base of devices that watch or change one op.
// What it hands out (buffers, plans, pools, steps) is the inner device's own.
#pragma once

#include "device/device.h"

namespace lockstep::device {

class ForwardingDevice : public Device {
 public:
  // Borrows: `inner` must outlive this.
  explicit ForwardingDevice(Device& inner) : inner_(inner) {}

  std::string description() const override { return inner_.description(); }
  const Profile& profile() const override { return inner_.profile(); }

  StatusOr<std::unique_ptr<Buffer>> alloc(int max_rows, int width) override {
    return inner_.alloc(max_rows, width);
  }
  StatusOr<std::unique_ptr<Vector>> upload(std::span<const float> values) override {
    return inner_.upload(values);
  }
  StatusOr<std::unique_ptr<LinearPlan>> prepare(std::span<const LinearWeight> stacked) override {
    return inner_.prepare(stacked);
  }
  StatusOr<std::unique_ptr<RopePlan>> prepare_rope(const RopeSpec& spec) override {
    return inner_.prepare_rope(spec);
  }
  StatusOr<int64_t> page_bytes(const LayerGroup& group) const override {
    return inner_.page_bytes(group);
  }
  StatusOr<std::unique_ptr<PagePool>> alloc_pages(const StateLayout& layout,
                                                  std::span<const int> pages_per_group) override {
    return inner_.alloc_pages(layout, pages_per_group);
  }

  void copy_pages(PagePool& pool, std::span<const PageCopy> copies) override {
    inner_.copy_pages(pool, copies);
  }
  const StepView& begin_step(const StepInput& input) override { return inner_.begin_step(input); }
  Status end_step() override { return inner_.end_step(); }

  void embed(const StepView& step, const LinearPlan& table, float scale, View out) override {
    inner_.embed(step, table, scale, out);
  }
  void rms_norm(const StepView& step, RowSet rows, View in, const Vector& weight, float eps,
                View out) override {
    inner_.rms_norm(step, rows, in, weight, eps, out);
  }
  void linear(const StepView& step, RowSet rows, const LinearPlan& plan, View in,
              View out) override {
    inner_.linear(step, rows, plan, in, out);
  }
  void rope_and_append(const StepView& step, const RopePlan* rope, PagePool& pool, StateLayer layer,
                       View q, View k, View v) override {
    inner_.rope_and_append(step, rope, pool, layer, q, k, v);
  }
  void attend(const StepView& step, const PagePool& pool, StateLayer layer, const AttendSpec& spec,
              View q, View out) override {
    inner_.attend(step, pool, layer, spec, q, out);
  }
  void gated_activation(const StepView& step, GatedActivation kind, View gate, View up,
                        View out) override {
    inner_.gated_activation(step, kind, gate, up, out);
  }
  void add(const StepView& step, View x, View y) override { inner_.add(step, x, y); }
  void gather_logit_rows(const StepView& step, View in, View out) override {
    inner_.gather_logit_rows(step, in, out);
  }
  void soft_cap(const StepView& step, float cap, View x) override { inner_.soft_cap(step, cap, x); }
  void sample(const StepView& step, View logits) override { inner_.sample(step, logits); }

  void read(const Buffer& buffer, int row, std::span<float> out) const override {
    inner_.read(buffer, row, out);
  }
  std::span<const TokenId> sampled() const override { return inner_.sampled(); }

 protected:
  Device& inner() { return inner_; }
  const Device& inner() const { return inner_; }

 private:
  Device& inner_;
};

}  // namespace lockstep::device
