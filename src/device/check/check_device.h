// Runs two devices side by side on the same calls and compares what every op gives, bit by bit (NaN
// equals NaN). The first difference of a step comes out of end_step(), named by op and row.
//
// Answers (read, sampled) are the first device's. REQUIRES devices of one profile whose ops have
// run when they return (reference, cpu). Ownership: borrows both.
#pragma once

#include <string>

#include "device/device.h"

namespace lockstep::device {

class CheckDevice : public Device {
 public:
  CheckDevice(Device& first, Device& second) : devices_{&first, &second} {}

  std::string description() const override;
  const Profile& profile() const override { return devices_[0]->profile(); }

  StatusOr<std::unique_ptr<Buffer>> alloc(int max_rows, int width) override;
  StatusOr<std::unique_ptr<Vector>> upload(std::span<const float> values) override;
  StatusOr<std::unique_ptr<LinearPlan>> prepare(std::span<const LinearWeight> stacked) override;
  StatusOr<std::unique_ptr<RopePlan>> prepare_rope(const RopeSpec& spec) override;
  StatusOr<int64_t> page_bytes(const LayerGroup& group) const override {
    return devices_[0]->page_bytes(group);
  }
  StatusOr<std::unique_ptr<PagePool>> alloc_pages(const StateLayout& layout,
                                                  std::span<const int> pages_per_group) override;

  void copy_pages(PagePool& pool, std::span<const PageCopy> copies) override;
  const StepView& begin_step(const StepInput& input) override;
  // internal_error with the first difference, after the inner devices' own errors.
  Status end_step() override;

  void embed(const StepView& step, const LinearPlan& table, float scale, View out) override;
  void rms_norm(const StepView& step, RowSet rows, View in, const Vector& weight, float eps,
                View out) override;
  void linear(const StepView& step, RowSet rows, const LinearPlan& plan, View in,
              View out) override;
  void rope_and_append(const StepView& step, const RopePlan* rope, PagePool& pool, StateLayer layer,
                       View q, View k, View v) override;
  void attend(const StepView& step, const PagePool& pool, StateLayer layer, const AttendSpec& spec,
              View q, View out) override;
  void gated_activation(const StepView& step, GatedActivation kind, View gate, View up,
                        View out) override;
  void add(const StepView& step, View x, View y) override;
  void gather_logit_rows(const StepView& step, View in, View out) override;
  void soft_cap(const StepView& step, float cap, View x) override;
  void sample(const StepView& step, View logits) override;

  void read(const Buffer& buffer, int row, std::span<float> out) const override;
  std::span<const TokenId> sampled() const override { return devices_[0]->sampled(); }

 private:
  struct Step : StepView {
    void assign(const StepView& first, const StepView& second);
    const StepView* inner[2] = {};
  };

  // Calls call(0 or 1, that device, its step), then compares the rows of `out`.
  template <class Call>
  void run(const char* op, RowSet rows, View out, const Call& call);
  void compare(const char* op, int rows, View out);

  Device* devices_[2];
  Step step_;
  int ops_ = 0;  // so far in this step
  std::string difference_;
};

}  // namespace lockstep::device
