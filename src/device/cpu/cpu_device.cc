#include "device/cpu/cpu_device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/thread_pool.h"
#include "device/cpu/attention.h"
#include "device/cpu/cpu_objects.h"
#include "device/cpu/isa.h"
#include "device/cpu/linear.h"
#include "device/cpu/page_pool.h"
#include "device/cpu/step.h"
#include "device/sampler.h"

namespace lockstep::device {
namespace cpu {
namespace {

const CpuStep& cast(const StepView& step) { return static_cast<const CpuStep&>(step); }

class CpuDevice final : public Device {
 public:
  CpuDevice(const Profile& profile, const Kernels& kernels, int threads)
      : profile_(profile), kernels_(kernels), pool_(threads) {}

  std::string description() const override {
    return fmt::format("cpu ({}, {} thread{})", kernels_.isa, pool_.threads(),
                       pool_.threads() == 1 ? "" : "s");
  }
  const Profile& profile() const override { return profile_; }

  StatusOr<std::unique_ptr<Buffer>> alloc(int max_rows, int width) override {
    return CpuBuffer::create(max_rows, width);
  }
  StatusOr<std::unique_ptr<Vector>> upload(std::span<const float> values) override {
    return std::make_unique<CpuVector>(values);
  }
  StatusOr<std::unique_ptr<LinearPlan>> prepare(std::span<const LinearWeight> stacked) override {
    return pack_linear(stacked, profile_.arithmetic, pool_, arena_);
  }
  StatusOr<std::unique_ptr<RopePlan>> prepare_rope(const RopeSpec& spec) override {
    return std::make_unique<CpuRopePlan>(spec);
  }
  StatusOr<int64_t> page_bytes(const LayerGroup& group) const override {
    return CpuPagePool::page_bytes(group, profile_.kv);
  }
  StatusOr<std::unique_ptr<PagePool>> alloc_pages(const StateLayout& layout,
                                                  std::span<const int> pages_per_group) override {
    return CpuPagePool::create(layout, pages_per_group, profile_.kv);
  }

  void copy_pages(PagePool& pool, std::span<const PageCopy> copies) override {
    for (const PageCopy& copy : copies) static_cast<CpuPagePool&>(pool).copy(copy);
  }
  const StepView& begin_step(const StepInput& input) override {
    step_.assign(input, sampled_);
    drawn_.clear();
    return step_;
  }
  Status end_step() override {
    sampled_.swap(drawn_);
    return ok_status();
  }

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
  std::span<const TokenId> sampled() const override { return sampled_; }

 private:
  template <class Body>
  void for_rows(int rows, int64_t floats_a_row, const Body& body);
  const CpuRopePlan::Angles& angles_of(const CpuStep& step, const CpuRopePlan& rope);
  const KvKernels& kv_kernels() const {
    return kernels_.attention.kv[static_cast<size_t>(profile_.kv)];
  }

  const Profile profile_;
  const Kernels& kernels_;
  ThreadPool pool_;
  PackedArena arena_;
  LinearScratch linear_scratch_;
  AttentionScratch attention_scratch_;
  std::vector<AttendJob> jobs_;
  CpuStep step_;
  std::vector<TokenId> drawn_;    // by the step that runs
  std::vector<TokenId> sampled_;  // by the last one that ended
};

// Fewer floats than this are done by one thread before a second one has begun.
constexpr int64_t kAloneFloats = 1 << 14;
constexpr int kBlocksAThread = 4;

// body(row) for each row, over the pool where that pays.
template <class Body>
void CpuDevice::for_rows(int rows, int64_t floats_a_row, const Body& body) {
  const ComputeScope scope;
  if (rows == 1 || rows * floats_a_row < kAloneFloats) {
    for (int r = 0; r < rows; ++r) body(r);
    return;
  }
  const int block = std::max(1, rows / (pool_.threads() * kBlocksAThread));
  pool_.run(ceil_div(rows, block), [&](int64_t index, int) {
    const auto first = static_cast<int>(index) * block;
    const int end = std::min(rows, first + block);
    for (int r = first; r < end; ++r) body(r);
  });
}

void CpuDevice::embed(const StepView& step, const LinearPlan& table, float scale, View out) {
  LOCKSTEP_CHECK(out.width == table.inputs());
  const Rows to(out);
  const std::span<const int32_t> tokens = cast(step).tokens();
  for_rows(step.rows(), to.width,
           [&](int r) { embed_row(table, tokens[static_cast<size_t>(r)], scale, to.row(r)); });
}

void CpuDevice::rms_norm(const StepView& step, RowSet rows, View in, const Vector& weight,
                         float eps, View out) {
  LOCKSTEP_CHECK(in.width == out.width && out.width % weight.size() == 0);
  const Rows from(in);
  const Rows to(out);
  const float* weights = static_cast<const CpuVector&>(weight).data();
  const int heads = to.width / weight.size();
  for_rows(cast(step).rows_of(rows), to.width, [&](int r) {
    kernels_.rows.rms_norm(from.row(r), weights, weight.size(), heads, eps, to.row(r));
  });
}

void CpuDevice::linear(const StepView& step, RowSet rows, const LinearPlan& plan, View in,
                       View out) {
  LOCKSTEP_CHECK(in.width == plan.inputs() && out.width == plan.outputs());
  const ComputeScope scope;
  const Rows from(in);
  const Rows to(out);
  run_linear(kernels_.linear, pool_, linear_scratch_, plan, from.data, from.stride, to.data,
             to.stride, cast(step).rows_of(rows));
}

const CpuRopePlan::Angles& CpuDevice::angles_of(const CpuStep& step, const CpuRopePlan& rope) {
  CpuRopePlan::Angles& angles = rope.angles();
  if (angles.step == step.serial()) return angles;
  const auto pairs = static_cast<size_t>(rope.pairs());
  angles.cosines.resize(static_cast<size_t>(step.rows()) * pairs);
  angles.sines.resize(angles.cosines.size());
  for_rows(step.rows(), rope.pairs(), [&](int row) {
    const auto r = static_cast<size_t>(row);
    kernels_.rows.rope_angles(rope.spec().inverse_frequencies.data(), rope.pairs(),
                              static_cast<float>(step.positions()[r]), rope.spec().magnitude,
                              angles.cosines.data() + r * pairs, angles.sines.data() + r * pairs);
  });
  angles.step = step.serial();
  return angles;
}

void CpuDevice::rope_and_append(const StepView& view, const RopePlan* rope, PagePool& pool,
                                StateLayer layer, View q, View k, View v) {
  const CpuStep& step = cast(view);
  const Rows queries(q);
  const Rows keys(k);
  const Rows values(v);
  const KvPages pages = static_cast<CpuPagePool&>(pool).pages_of(layer);
  LOCKSTEP_CHECK(k.width == pages.kv_heads * pages.k_head_size &&
                 v.width == pages.kv_heads * pages.v_head_size && q.width % pages.k_head_size == 0);
  const auto* plan = static_cast<const CpuRopePlan*>(rope);
  const CpuRopePlan::Angles* angles = plan == nullptr ? nullptr : &angles_of(step, *plan);
  const auto rotate = [&](float* x, int heads, int row) {
    const ptrdiff_t first = ptrdiff_t{row} * plan->pairs();
    kernels_.rows.rotate[static_cast<size_t>(plan->spec().style)](
        angles->cosines.data() + first, angles->sines.data() + first, plan->pairs(),
        pages.k_head_size, heads, x);
  };
  for_rows(step.rows(), queries.width + keys.width + values.width, [&](int row) {
    const auto r = static_cast<size_t>(row);
    if (angles != nullptr) {
      rotate(queries.row(row), queries.width / pages.k_head_size, row);
      rotate(keys.row(row), pages.kv_heads, row);
    }
    const int position = step.positions()[r];
    const int32_t* table = step.page_table(step.row_sequences()[r], layer.group);
    kv_kernels().append(pages, table[position / kPagePositions], position % kPagePositions,
                        keys.row(row), values.row(row));
  });
}

void CpuDevice::attend(const StepView& view, const PagePool& pool, StateLayer layer,
                       const AttendSpec& spec, View q, View out) {
  const ComputeScope scope;
  const CpuStep& step = cast(view);
  const auto& pages = static_cast<const CpuPagePool&>(pool);
  const LayerGroup& group = pages.group_of(layer);
  LOCKSTEP_CHECK(spec.heads % group.kv_heads == 0 && q.width == spec.heads * group.k_head_size &&
                 out.width == spec.heads * group.v_head_size);
  const Rows from(q);
  const Rows to(out);
  jobs_.clear();
  for (const CpuStep::Segment& segment : step.segments()) {
    jobs_.push_back({.pages = pages.pages_of(layer),
                     .page_table = step.page_table(segment.sequence, layer.group),
                     .first_position = segment.first_position,
                     .rows = segment.rows,
                     .window = group.kind == StateKind::kWindow ? group.window : 0,
                     .group_size = spec.heads / group.kv_heads,
                     .scale = spec.scale,
                     .soft_cap = spec.soft_cap,
                     .q = from.row(segment.first_row),
                     .q_stride = from.stride,
                     .out = to.row(segment.first_row),
                     .out_stride = to.stride});
  }
  run_attention(kv_kernels(), pool_, attention_scratch_, jobs_);
}

void CpuDevice::gated_activation(const StepView& step, GatedActivation kind, View gate, View up,
                                 View out) {
  LOCKSTEP_CHECK(gate.width == out.width && up.width == out.width);
  const Rows gates(gate);
  const Rows ups(up);
  const Rows to(out);
  const auto kernel = kernels_.rows.gated_activation[static_cast<size_t>(kind)];
  for_rows(step.rows(), to.width,
           [&](int r) { kernel(gates.row(r), ups.row(r), to.width, to.row(r)); });
}

void CpuDevice::add(const StepView& step, View x, View y) {
  LOCKSTEP_CHECK(x.width == y.width);
  const Rows sums(x);
  const Rows terms(y);
  for_rows(step.rows(), sums.width,
           [&](int r) { kernels_.rows.add(sums.row(r), terms.row(r), sums.width); });
}

void CpuDevice::gather_logit_rows(const StepView& step, View in, View out) {
  LOCKSTEP_CHECK(in.width == out.width);
  const Rows from(in);
  const Rows to(out);
  const std::span<const int32_t> rows = cast(step).logit_row_indices();
  for_rows(step.logit_rows(), to.width, [&](int j) {
    std::memcpy(to.row(j), from.row(rows[static_cast<size_t>(j)]),
                static_cast<size_t>(to.width) * sizeof(float));
  });
}

void CpuDevice::soft_cap(const StepView& step, float cap, View x) {
  const Rows values(x);
  for_rows(step.logit_rows(), values.width,
           [&](int r) { kernels_.rows.soft_cap(cap, values.row(r), values.width); });
}

void CpuDevice::sample(const StepView& view, View logits) {
  const CpuStep& step = cast(view);
  const Rows from(logits);
  const std::span<const RowSampling> sampling = step.sampling();
  drawn_.assign(sampling.size(), SampledToken::from_logit_index(0));
  for_rows(static_cast<int>(sampling.size()), from.width, [&](int j) {
    const auto i = static_cast<size_t>(j);
    const auto row = static_cast<size_t>(step.logit_row_indices()[i]);
    drawn_[i] = sample_row({from.row(j), static_cast<size_t>(from.width)}, sampling[i],
                           step.positions()[row], kernels_.rows.exp);
  });
}

void CpuDevice::read(const Buffer& buffer, int row, std::span<float> out) const {
  const auto& from = static_cast<const CpuBuffer&>(buffer);
  LOCKSTEP_CHECK(0 <= row && row < from.rows() && out.size() == static_cast<size_t>(from.width()));
  const float* values = from.data() + row * from.stride();
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = std::isnan(values[i]) ? std::bit_cast<float>(0x7fc00000u) : values[i];
  }
}

}  // namespace
}  // namespace cpu

StatusOr<std::unique_ptr<Device>> make_cpu_device(const CpuOptions& options) {
  if (options.threads < 1 || options.threads > kMaxCpuThreads) {
    return invalid_argument("{} threads; allowed: 1 to {}", options.threads, kMaxCpuThreads);
  }
  std::string_view isa = options.isa;
  if (isa.empty()) {
    if (const char* wanted = std::getenv("LOCKSTEP_ISA")) isa = wanted;
  }
  LOCKSTEP_ASSIGN_OR_RETURN(const cpu::Kernels* kernels, cpu::find_kernels(isa));
  return std::make_unique<cpu::CpuDevice>(options.profile, *kernels, options.threads);
}

}  // namespace lockstep::device
