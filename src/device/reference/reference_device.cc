#include "device/reference/reference_device.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <new>
#include <utility>
#include <vector>

#include "base/math.h"
#include "base/thread_pool.h"
#include "device/reference/attention.h"
#include "device/reference/chains.h"
#include "device/reference/linear.h"
#include "device/reference/pages.h"
#include "device/sampler.h"

namespace lockstep::device::reference {
namespace {

class ReferenceBuffer : public Buffer {
 public:
  ReferenceBuffer(int rows, int width) : Buffer(rows, width), values_(size_t(rows) * width) {}
  float* row(int r) { return values_.data() + int64_t{r} * width(); }
  const float* row(int r) const { return values_.data() + int64_t{r} * width(); }

 private:
  std::vector<float> values_;
};

float* row_of(View view, int row) {
  return static_cast<ReferenceBuffer*>(view.buffer)->row(row) + view.first;
}

class ReferenceVector : public Vector {
 public:
  explicit ReferenceVector(std::span<const float> from)
      : Vector(static_cast<int>(from.size())), values(from.begin(), from.end()) {}
  const std::vector<float> values;
};

class ReferenceRope : public RopePlan {
 public:
  explicit ReferenceRope(const RopeSpec& from) : spec(from) {}
  const RopeSpec spec;
};

class ReferenceStep : public StepView {
 public:
  // A token that the previous step sampled is looked up in `previous`.
  void assign(const StepInput& input, const std::vector<TokenId>& previous) {
    rows.assign(input.rows.begin(), input.rows.end());
    tokens.clear();
    for (const StepRow& row : rows) {
      const int32_t value = row.token.value();
      tokens.push_back(row.token.is_sampled() ? previous[value].value() : value);
    }
    tables.clear();
    for (const StepSequence& sequence : input.sequences) {
      tables.emplace_back();
      for (auto table : sequence.tables) tables.back().emplace_back(table.begin(), table.end());
    }
    logit_rows.assign(input.logit_rows.begin(), input.logit_rows.end());
    sampling.assign(input.sampling.begin(), input.sampling.end());
    rows_ = static_cast<int>(rows.size());
    logit_rows_ = static_cast<int>(logit_rows.size());
  }

  std::span<const PageId> table(const StepRow& row, int group) const {
    return tables[row.sequence][group];
  }

  std::vector<StepRow> rows;
  std::vector<int32_t> tokens;
  std::vector<std::vector<std::vector<PageId>>> tables;  // [sequence][group][page index]
  std::vector<int32_t> logit_rows;
  std::vector<RowSampling> sampling;
};

const ReferenceStep& from(const StepView& step) { return static_cast<const ReferenceStep&>(step); }

// ---- One row

void rms_norm_head(const float* x, const std::vector<float>& weight, float eps, float* out) {
  const auto n = static_cast<int>(weight.size());
  SixteenLanes squares;
  for (int i = 0; i < n; ++i) {
    float& lane = squares.lane(i);
    lane = std::fma(x[i], x[i], lane);
  }
  const float r = 1.0f / std::sqrt(squares.tree() / static_cast<float>(n) + eps);
  for (int i = 0; i < n; ++i) out[i] = (x[i] * r) * weight[i];
}

void rotate_head(const RopeSpec& rope, int position, float* x) {
  const auto pairs = static_cast<int>(rope.inverse_frequencies.size());
  for (int i = 0; i < pairs; ++i) {
    const SinCos angle = sincos_f32(static_cast<float>(position) * rope.inverse_frequencies[i]);
    const float c = angle.cos * rope.magnitude;
    const float s = angle.sin * rope.magnitude;
    float& first = rope.style == RopeStyle::kHalf ? x[i] : x[2 * i];
    float& second = rope.style == RopeStyle::kHalf ? x[i + pairs] : x[2 * i + 1];
    const float a = first;
    const float b = second;
    first = std::fma(a, c, -(b * s));
    second = std::fma(b, c, a * s);
  }
}

float activate(GatedActivation kind, float x) {
  return kind == GatedActivation::kSilu ? silu_f32(x) : gelu_tanh_f32(x);
}

// ---- The device

class ReferenceDevice : public Device {
 public:
  explicit ReferenceDevice(Profile profile) : profile_(profile) {}

  std::string description() const override { return "reference"; }
  const Profile& profile() const override { return profile_; }

  StatusOr<std::unique_ptr<Buffer>> alloc(int max_rows, int width) override {
    if (max_rows < 0 || width < 1) {
      return invalid_argument("buffer of {} rows of {}; at least 0 and 1", max_rows, width);
    }
    try {
      return std::make_unique<ReferenceBuffer>(max_rows, width);
    } catch (const std::bad_alloc&) {
      return resource_exhausted("no memory for a buffer of {} rows of {}", max_rows, width);
    }
  }

  StatusOr<std::unique_ptr<Vector>> upload(std::span<const float> values) override {
    return std::make_unique<ReferenceVector>(values);
  }

  StatusOr<std::unique_ptr<LinearPlan>> prepare(std::span<const LinearWeight> stacked) override {
    return ReferenceLinear::create(stacked, profile_.arithmetic);
  }

  StatusOr<std::unique_ptr<RopePlan>> prepare_rope(const RopeSpec& spec) override {
    return std::make_unique<ReferenceRope>(spec);
  }

  StatusOr<int64_t> page_bytes(const LayerGroup& group) const override {
    return reference::ReferencePages::page_bytes(group);
  }
  StatusOr<std::unique_ptr<PagePool>> alloc_pages(const StateLayout& layout,
                                                  std::span<const int> pages_per_group) override {
    return ReferencePages::create(layout, pages_per_group);
  }

  void copy_pages(PagePool& pool, std::span<const PageCopy> copies) override {
    for (const PageCopy& copy : copies) static_cast<reference::ReferencePages&>(pool).copy(copy);
  }
  const StepView& begin_step(const StepInput& input) override {
    step_.assign(input, sampled_);
    sampled_.clear();
    return step_;
  }

  Status end_step() override { return ok_status(); }

  void embed(const StepView& step, const LinearPlan& table, float scale, View out) override {
    const ComputeScope scope;
    LOCKSTEP_CHECK(out.width == table.inputs());
    for (int r = 0; r < step.rows(); ++r) {
      static_cast<const ReferenceLinear&>(table).embed(from(step).tokens[r], scale, row_of(out, r));
    }
  }

  void rms_norm(const StepView& step, RowSet rows, View in, const Vector& weight, float eps,
                View out) override {
    const ComputeScope scope;
    LOCKSTEP_CHECK(in.width == out.width && out.width % weight.size() == 0);
    const auto& w = static_cast<const ReferenceVector&>(weight).values;
    for (int r = 0; r < row_count(step, rows); ++r) {
      for (int first = 0; first < out.width; first += weight.size()) {
        rms_norm_head(row_of(in, r) + first, w, eps, row_of(out, r) + first);
      }
    }
  }

  void linear(const StepView& step, RowSet rows, const LinearPlan& plan, View in,
              View out) override {
    const ComputeScope scope;
    LOCKSTEP_CHECK(in.width == plan.inputs() && out.width == plan.outputs());
    for (int r = 0; r < row_count(step, rows); ++r) {
      static_cast<const ReferenceLinear&>(plan).multiply(row_of(in, r), row_of(out, r));
    }
  }

  void rope_and_append(const StepView& step, const RopePlan* rope, PagePool& pool, StateLayer layer,
                       View q, View k, View v) override {
    const ComputeScope scope;
    auto& pages = static_cast<ReferencePages&>(pool);
    const LayerGroup& group = pages.group_of(layer);
    LOCKSTEP_CHECK(k.width == group.kv_heads * group.k_head_size);
    LOCKSTEP_CHECK(v.width == group.kv_heads * group.v_head_size);
    LOCKSTEP_CHECK(q.width % group.k_head_size == 0);
    for (int r = 0; r < step.rows(); ++r) {
      const StepRow& row = from(step).rows[r];
      if (rope != nullptr) {
        const RopeSpec& spec = static_cast<const ReferenceRope*>(rope)->spec;
        for (View view : {q, k}) {
          for (int first = 0; first < view.width; first += group.k_head_size) {
            rotate_head(spec, row.position, row_of(view, r) + first);
          }
        }
      }
      const PageId page = page_at(from(step).table(row, layer.group), row.position);
      const int slot = slot_of(row.position);
      const auto append = [&](const float* x, int size, float* to) {
        for (int d = 0; d < size; ++d) to[d] = round_to_kv(profile_.kv, x[d]);
      };
      for (int h = 0; h < group.kv_heads; ++h) {
        append(row_of(k, r) + h * group.k_head_size, group.k_head_size,
               pages.k(layer, page, slot, h));
        append(row_of(v, r) + h * group.v_head_size, group.v_head_size,
               pages.v(layer, page, slot, h));
      }
    }
  }

  void attend(const StepView& step, const PagePool& pool, StateLayer layer, const AttendSpec& spec,
              View q, View out) override {
    const ComputeScope scope;
    const auto& pages = static_cast<const ReferencePages&>(pool);
    const LayerGroup& group = pages.group_of(layer);
    LOCKSTEP_CHECK(spec.heads % group.kv_heads == 0);
    LOCKSTEP_CHECK(q.width == spec.heads * group.k_head_size);
    LOCKSTEP_CHECK(out.width == spec.heads * group.v_head_size);
    for (int r = 0; r < step.rows(); ++r) {
      const StepRow& row = from(step).rows[r];
      for (int h = 0; h < spec.heads; ++h) {
        const AttentionHead head = {.pages = pages,
                                    .layer = layer,
                                    .kv_head = h / (spec.heads / group.kv_heads),
                                    .table = from(step).table(row, layer.group),
                                    .position = row.position,
                                    .kv = profile_.kv,
                                    .spec = spec};
        attend_head(head, row_of(q, r) + h * group.k_head_size,
                    row_of(out, r) + h * group.v_head_size);
      }
    }
  }

  void gated_activation(const StepView& step, GatedActivation kind, View gate, View up,
                        View out) override {
    const ComputeScope scope;
    LOCKSTEP_CHECK(gate.width == out.width && up.width == out.width);
    for (int r = 0; r < step.rows(); ++r) {
      for (int i = 0; i < out.width; ++i) {
        row_of(out, r)[i] = activate(kind, row_of(gate, r)[i]) * row_of(up, r)[i];
      }
    }
  }

  void add(const StepView& step, View x, View y) override {
    const ComputeScope scope;
    LOCKSTEP_CHECK(x.width == y.width);
    for (int r = 0; r < step.rows(); ++r) {
      for (int i = 0; i < x.width; ++i) row_of(x, r)[i] += row_of(y, r)[i];
    }
  }

  void gather_logit_rows(const StepView& step, View in, View out) override {
    LOCKSTEP_CHECK(in.width == out.width);
    for (int j = 0; j < step.logit_rows(); ++j) {
      std::copy_n(row_of(in, from(step).logit_rows[j]), in.width, row_of(out, j));
    }
  }

  void soft_cap(const StepView& step, float cap, View x) override {
    const ComputeScope scope;
    for (int j = 0; j < step.logit_rows(); ++j) {
      for (int i = 0; i < x.width; ++i) row_of(x, j)[i] = soft_cap_f32(row_of(x, j)[i], cap);
    }
  }

  void sample(const StepView& step, View logits) override {
    const ComputeScope scope;
    const ReferenceStep& s = from(step);
    for (size_t j = 0; j < s.sampling.size(); ++j) {
      const std::span<const float> row(row_of(logits, static_cast<int>(j)), logits.width);
      sampled_.push_back(sample_row(row, s.sampling[j], s.rows[s.logit_rows[j]].position));
    }
  }

  void read(const Buffer& buffer, int row, std::span<float> out) const override {
    LOCKSTEP_CHECK(out.size() == static_cast<size_t>(buffer.width()));
    const float* x = static_cast<const ReferenceBuffer&>(buffer).row(row);
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = std::isnan(x[i]) ? std::bit_cast<float>(0x7fc00000u) : x[i];
    }
  }

  std::span<const TokenId> sampled() const override { return sampled_; }

 private:
  const Profile profile_;
  ReferenceStep step_;
  std::vector<TokenId> sampled_;
};

}  // namespace
}  // namespace lockstep::device::reference

namespace lockstep::device {

std::unique_ptr<Device> make_reference_device(Profile profile) {
  return std::make_unique<reference::ReferenceDevice>(profile);
}

}  // namespace lockstep::device
