// The CPU device's attention and row ops, on every instruction set that this machine runs, against
// ReferenceDevice: equal to the bit. device/exactness_test.cc has the matrix over row counts.

#include "device/cpu/cpu_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "base/rng.h"
#include "device/cpu/isa.h"
#include "device/reference/reference_device.h"

namespace lockstep::device {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<std::string> instruction_sets() {
  std::vector<std::string> names;
  for (const cpu::Kernels* kernels : cpu::runnable_kernels()) names.emplace_back(kernels->isa);
  return names;
}

std::unique_ptr<Device> cpu_device(const std::string& isa, KvType kv, int threads = 2) {
  auto device = make_cpu_device(
      {.profile = {.arithmetic = Arithmetic::kF32, .kv = kv}, .threads = threads, .isa = isa});
  EXPECT_TRUE(device.ok()) << device.status();
  return *std::move(device);
}

std::unique_ptr<Device> reference_device(KvType kv) {
  return make_reference_device({.arithmetic = Arithmetic::kF32, .kv = kv});
}

// In [-2, 2), a function of the integers alone.
float value_at(uint64_t stream, int64_t index) {
  const uint64_t h = mix64(mix64(stream) + static_cast<uint64_t>(index));
  return static_cast<float>(static_cast<int64_t>(h >> 40) - (1 << 23)) * 0x1p-22f;
}

using Floats = std::vector<float>;

bool same_bits(const Floats& a, const Floats& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

Floats read_rows(const Device& device, const Buffer& buffer, int rows) {
  Floats out;
  Floats row(static_cast<size_t>(buffer.width()));
  for (int r = 0; r < rows; ++r) {
    device.read(buffer, r, row);
    out.insert(out.end(), row.begin(), row.end());
  }
  return out;
}

// A table of `rows` given rows as the embedding of tokens 0, 1, ...: the way to put values into a
// buffer through the seam alone.
class Values {
 public:
  Values(Device& device, const Floats& values, int width)
      : rows_(static_cast<int>(values.size()) / width) {
    const TensorView tensor = {
        DType::kF32, {rows_, width}, std::as_bytes(std::span<const float>(values))};
    const LinearWeight weight = {tensor, {}};
    plan_ = std::move(device.prepare({&weight, 1})).value();
    buffer_ = std::move(device.alloc(rows_, width)).value();
  }
  // Rows of the step whose tokens are the row numbers wanted.
  View fill(Device& device, const StepView& step) {
    device.embed(step, *plan_, 1.0f, *buffer_);
    return *buffer_;
  }
  Buffer& buffer() { return *buffer_; }

 private:
  int rows_;
  std::unique_ptr<LinearPlan> plan_;
  std::unique_ptr<Buffer> buffer_;
};

TokenId token(int id) { return SampledToken::from_logit_index(id); }

// ---- What is refused

std::string refusal(const CpuOptions& options) {
  const auto device = make_cpu_device(options);
  EXPECT_FALSE(device.ok());
  return device.ok() ? "" : message_of(device.status());
}

TEST(CpuDevice, UnknownInstructionSetIsRefusedWithThoseThatRunHere) {
  const std::string message = refusal({.profile = {}, .threads = 1, .isa = "avx1024"});
  EXPECT_THAT(message, testing::HasSubstr("avx1024"));
  for (const std::string& isa : instruction_sets()) {
    EXPECT_THAT(message, testing::HasSubstr(isa));
  }
}

TEST(CpuDevice, ThreadCountOutOfRangeIsRefused) {
  for (const int threads : {-1, 0, kMaxCpuThreads + 1}) {
    EXPECT_THAT(refusal({.profile = {}, .threads = threads, .isa = {}}),
                testing::HasSubstr("1 to 1024"));
  }
}

Status alloc_pages(const LayerGroup& group, int pages) {
  StateLayout layout;
  layout.groups = {group};
  const auto device = cpu_device("", KvType::kF32);
  return device->alloc_pages(layout, std::vector<int>{pages}).status();
}

TEST(CpuDevice, PagesThatNoMemoryHoldsAreRefusedWithTheirSize) {
  const LayerGroup group = {
      .layers = 1 << 15, .kv_heads = 1 << 15, .k_head_size = 1 << 15, .v_head_size = 1 << 15};
  for (const int pages : {1, std::numeric_limits<int>::max()}) {
    const Status status = alloc_pages(group, pages);
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    EXPECT_THAT(message_of(status), testing::HasSubstr("bytes"));
  }
}

TEST(CpuDevice, OddKeyHeadsAreRefused) {
  EXPECT_EQ(alloc_pages({.layers = 1, .kv_heads = 1, .k_head_size = 7, .v_head_size = 8}, 1).code(),
            absl::StatusCode::kInvalidArgument);
}

// ---- Attention

struct AttentionShape {
  int kv_heads = 2;
  int group_size = 3;
  int k_head_size = 16;
  int v_head_size = 16;
  int window = 0;
  float soft_cap = 0.0f;

  int q_width() const { return kv_heads * group_size * k_head_size; }
  int k_width() const { return kv_heads * k_head_size; }
  int v_width() const { return kv_heads * v_head_size; }
  int out_width() const { return kv_heads * group_size * v_head_size; }
};

// One sequence on one device: pages scattered over a pool whose every slot was NaN before.
class Attention {
 public:
  Attention(std::unique_ptr<Device> device, const AttentionShape& shape, int positions,
            const std::vector<std::pair<int, float>>& strange_keys = {})
      : device_(std::move(device)), shape_(shape), positions_(positions) {
    const int pages = (positions + kPagePositions - 1) / kPagePositions;
    int step = 7;
    while (pages % step == 0) ++step;  // coprime enough: every page once
    for (int i = 0; i < pages; ++i) table_.push_back({(i * step + 1) % pages});
    StateLayout layout;
    layout.groups.push_back({.kind = shape.window > 0 ? StateKind::kWindow : StateKind::kFull,
                             .window = shape.window,
                             .layers = 2,
                             .kv_heads = shape.kv_heads,
                             .k_head_size = shape.k_head_size,
                             .v_head_size = shape.v_head_size});
    layout.layers = {{0, 0}, {0, 1}};
    pool_ = std::move(device_->alloc_pages(layout, std::vector<int>{pages})).value();
    fill_pool_with_nan(pages * kPagePositions);

    Floats q = numbers(1, shape.q_width());
    Floats k = numbers(2, shape.k_width());
    Floats v = numbers(3, shape.v_width());
    for (const auto& [position, value] : strange_keys) {
      std::fill_n(k.begin() + position * shape.k_width(), shape.k_width(), value);
      std::fill_n(v.begin() + position * shape.v_width(), shape.v_width(), value);
    }
    q_.emplace(*device_, q, shape.q_width());
    k_.emplace(*device_, k, shape.k_width());
    v_.emplace(*device_, v, shape.v_width());
    out_ = std::move(device_->alloc(positions, shape.out_width())).value();
  }

  // The next `rows` positions in one step; their outputs.
  Floats step(int rows) {
    const StepView& step = begin(next_, rows);
    const View q = q_->fill(*device_, step);
    const View k = k_->fill(*device_, step);
    const View v = v_->fill(*device_, step);
    device_->rope_and_append(step, nullptr, *pool_, kLayer, q, k, v);
    device_->attend(
        step, *pool_, kLayer,
        {.heads = shape_.kv_heads * shape_.group_size, .scale = 0.25f, .soft_cap = shape_.soft_cap},
        q, *out_);
    EXPECT_TRUE(device_->end_step().ok());
    next_ += rows;
    return read_rows(*device_, *out_, rows);
  }

  // All positions: `first` of them in one step, the rest one by one.
  Floats run(int first) {
    Floats out = step(first);
    while (next_ < positions_) {
      const Floats row = step(1);
      out.insert(out.end(), row.begin(), row.end());
    }
    return out;
  }
  Floats run() { return step(positions_); }

 private:
  static constexpr StateLayer kLayer = {0, 1};

  Floats numbers(uint64_t stream, int width) const {
    Floats out;
    for (int i = 0; i < positions_ * width; ++i) out.push_back(value_at(stream, i));
    return out;
  }

  const StepView& begin(int first, int rows) {
    rows_.clear();
    for (int r = 0; r < rows; ++r) rows_.push_back({0, first + r, RowToken::of(token(first + r))});
    sequences_ = {{{table_}}};
    return device_->begin_step(
        {.rows = rows_, .sequences = sequences_, .logit_rows = {}, .sampling = {}});
  }

  void fill_pool_with_nan(int positions) {
    const auto count = static_cast<size_t>(positions);
    Values q(*device_, Floats(count * static_cast<size_t>(shape_.q_width()), kNaN),
             shape_.q_width());
    Values k(*device_, Floats(count * static_cast<size_t>(shape_.k_width()), kNaN),
             shape_.k_width());
    Values v(*device_, Floats(count * static_cast<size_t>(shape_.v_width()), kNaN),
             shape_.v_width());
    const StepView& step = begin(0, positions);
    device_->rope_and_append(step, nullptr, *pool_, kLayer, q.fill(*device_, step),
                             k.fill(*device_, step), v.fill(*device_, step));
    EXPECT_TRUE(device_->end_step().ok());
  }

  std::unique_ptr<Device> device_;
  AttentionShape shape_;
  int positions_;
  int next_ = 0;
  std::vector<PageId> table_;
  std::vector<StepRow> rows_;
  std::vector<StepSequence> sequences_;
  std::unique_ptr<PagePool> pool_;
  std::optional<Values> q_, k_, v_;
  std::unique_ptr<Buffer> out_;
};

constexpr KvType kKvTypes[] = {KvType::kF32, KvType::kF16, KvType::kBF16};

// Whole in one step, and with the last rows one by one, on every instruction set.
void expect_reference_bits(const AttentionShape& shape, int positions, int first, KvType kv) {
  const Floats expected = Attention(reference_device(kv), shape, positions).run();
  for (const std::string& isa : instruction_sets()) {
    EXPECT_TRUE(same_bits(Attention(cpu_device(isa, kv), shape, positions).run(), expected))
        << isa << " " << kv_type_name(kv) << ", one step";
    EXPECT_TRUE(same_bits(Attention(cpu_device(isa, kv), shape, positions).run(first), expected))
        << isa << " " << kv_type_name(kv) << ", row by row";
  }
}

TEST(CpuAttention, ChunkAndPageBordersGiveTheReferenceBits) {
  for (const KvType kv : kKvTypes) expect_reference_bits({}, 2 * 256 + 34, 253, kv);
}

TEST(CpuAttention, AnyHeadSizeGivesTheReferenceBits) {
  for (const int size : {2, 6, 16, 64, 80, 256}) {
    SCOPED_TRACE(size);
    const AttentionShape shape = {
        .kv_heads = 1, .group_size = 2, .k_head_size = size, .v_head_size = size};
    for (const KvType kv : kKvTypes) expect_reference_bits(shape, 70, 62, kv);
  }
}

TEST(CpuAttention, KeysAndValuesMayDifferInSize) {
  const AttentionShape shape = {.k_head_size = 24, .v_head_size = 10};
  for (const KvType kv : kKvTypes) expect_reference_bits(shape, 40, 31, kv);
}

TEST(CpuAttention, HeadsLargerThanAPanelOfWords) {
  const AttentionShape shape = {
      .kv_heads = 1, .group_size = 1, .k_head_size = 578, .v_head_size = 34};
  for (const KvType kv : kKvTypes) expect_reference_bits(shape, 35, 33, kv);
}

TEST(CpuAttention, AnyGroupOfQueryHeadsGivesTheReferenceBits) {
  for (const int group_size : {1, 2, 3, 5, 8, 13}) {
    SCOPED_TRACE(group_size);
    const AttentionShape shape = {.group_size = group_size};
    for (const KvType kv : kKvTypes) expect_reference_bits(shape, 67, 64, kv);
  }
}

TEST(CpuAttention, WindowsGiveTheReferenceBits) {
  for (const int window : {1, 16, 31, 32, 33, 300}) {
    SCOPED_TRACE(window);
    const AttentionShape shape = {.kv_heads = 1, .group_size = 3, .window = window};
    for (const KvType kv : kKvTypes) expect_reference_bits(shape, 570, 566, kv);
  }
}

TEST(CpuAttention, SoftCapGivesTheReferenceBits) {
  const AttentionShape shape = {.soft_cap = 5.0f};
  for (const KvType kv : kKvTypes) expect_reference_bits(shape, 50, 45, kv);
}

TEST(CpuAttention, LaterTokensCannotReachARow) {
  constexpr int kPositions = 300;
  const AttentionShape shape;
  const size_t width = static_cast<size_t>(shape.out_width());
  for (const KvType kv : kKvTypes) {
    for (const float value : {kInfinity, kNaN}) {
      const Floats clean = Attention(cpu_device("", kv), shape, kPositions).run();
      const Floats strange = Attention(cpu_device("", kv), shape, kPositions, {{271, value}}).run();
      EXPECT_EQ(std::memcmp(clean.data(), strange.data(), 271 * width * sizeof(float)), 0);
      EXPECT_TRUE(std::isnan(strange[271 * width]));
    }
  }
}

TEST(CpuAttention, KeysBehindTheWindowCannotReachARow) {
  constexpr int kPositions = 300;
  for (const int window : {1, 16, 33}) {
    const AttentionShape shape = {.window = window};
    const size_t width = static_cast<size_t>(shape.out_width());
    for (const KvType kv : kKvTypes) {
      const Floats out =
          Attention(cpu_device("", kv), shape, kPositions, {{17, kNaN}, {254, kInfinity}}).run();
      for (int p = 0; p < kPositions; ++p) {
        const bool reads_one = (p >= 17 && p - window < 17) || (p >= 254 && p - window < 254);
        EXPECT_EQ(std::isnan(out[static_cast<size_t>(p) * width]), reads_one)
            << "position " << p << ", window " << window << ", " << kv_type_name(kv);
      }
    }
  }
}

TEST(CpuAttention, ThreadsAndTheSplitOverChunksChangeNoBit) {
  const AttentionShape shape = {.kv_heads = 1, .group_size = 2, .k_head_size = 64};
  for (const KvType kv : kKvTypes) {
    const Floats one = Attention(cpu_device("", kv, 1), shape, 1100).run(1097);
    for (const int threads : {2, 3, 7}) {
      EXPECT_TRUE(same_bits(Attention(cpu_device("", kv, threads), shape, 1100).run(1097), one));
    }
  }
}

// ---- Row ops

// One step of `rows` rows, each a sequence of its own in a window of one position, on one device.
class RowOps {
 public:
  RowOps(std::unique_ptr<Device> device, int rows) : device_(std::move(device)) {
    for (int r = 0; r < rows; ++r) {
      rows_.push_back({r, 3 * r, RowToken::of(token(r))});
      if (r % 2 == 0) logit_rows_.push_back(r);
      tables_.emplace_back(static_cast<size_t>(3 * r / kPagePositions + 1), PageId{r});
    }
    for (const std::vector<PageId>& table : tables_) sequences_.push_back({{table}});
    step_ = &device_->begin_step(
        {.rows = rows_, .sequences = sequences_, .logit_rows = logit_rows_, .sampling = {}});
  }
  Device& device() { return *device_; }
  const StepView& step() { return *step_; }

  // [rows, width], values of `stream` times `scale`; row 1 has a NaN and infinities.
  View input(uint64_t stream, int width, float scale = 1.0f) {
    Floats values;
    for (int i = 0; i < step_->rows() * width; ++i) values.push_back(scale * value_at(stream, i));
    if (step_->rows() > 1) {
      values[static_cast<size_t>(width)] = kNaN;
      values[2 * static_cast<size_t>(width) - 1] = kInfinity;
      values[static_cast<size_t>(width) + static_cast<size_t>(width / 2)] = -kInfinity;
    }
    inputs_.push_back(std::make_unique<Values>(*device_, values, width));
    return inputs_.back()->fill(*device_, *step_);
  }
  View output(int width) {
    buffers_.push_back(std::move(device_->alloc(step_->rows(), width)).value());
    return *buffers_.back();
  }
  // A page a row.
  std::unique_ptr<PagePool> pages(int head_size) {
    StateLayout layout;
    layout.groups.push_back({.kind = StateKind::kWindow,
                             .window = 1,
                             .layers = 1,
                             .kv_heads = 1,
                             .k_head_size = head_size,
                             .v_head_size = head_size});
    layout.layers = {{0, 0}};
    return std::move(device_->alloc_pages(layout, std::vector<int>{step_->rows()})).value();
  }
  Floats read(View view, int rows) const { return read_rows(*device_, *view.buffer, rows); }

 private:
  std::unique_ptr<Device> device_;
  std::vector<StepRow> rows_;
  std::vector<int32_t> logit_rows_;
  std::vector<std::vector<PageId>> tables_;
  std::vector<StepSequence> sequences_;
  const StepView* step_;
  std::vector<std::unique_ptr<Values>> inputs_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
};

// q and k after rope, then the attention of each row to itself alone: v as it was stored.
Floats rotate_and_attend(RowOps& ops, const RopePlan& rope, int heads, int head_size) {
  const View q = ops.input(1, heads * head_size);
  const View k = ops.input(2, head_size);
  const View v = ops.input(3, head_size);
  const View out = ops.output(heads * head_size);
  const int rows = ops.step().rows();
  const auto pool = ops.pages(head_size);
  ops.device().rope_and_append(ops.step(), &rope, *pool, {0, 0}, q, k, v);
  ops.device().attend(ops.step(), *pool, {0, 0}, {.heads = heads, .scale = 1.0f}, q, out);
  Floats all = ops.read(q, rows);
  for (const View view : {k, out}) {
    const Floats more = ops.read(view, rows);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

// `op` runs on a RowOps and returns what came out: the same bits everywhere, for one row, a few and
// enough to wake the pool.
template <class Op>
void expect_same_everywhere(const Op& op) {
  for (const int rows : {1, 5, 150}) {
    RowOps reference(reference_device(KvType::kF32), rows);
    const Floats expected = op(reference);
    for (const std::string& isa : instruction_sets()) {
      RowOps ops(cpu_device(isa, KvType::kF32), rows);
      EXPECT_TRUE(same_bits(op(ops), expected)) << isa << ", " << rows << " rows";
    }
  }
}

constexpr int kWidths[] = {1, 2, 15, 16, 17, 33, 130, 576};

TEST(CpuRows, RmsNorm) {
  for (const int width : kWidths) {
    for (const int heads : {1, 3}) {
      SCOPED_TRACE(width);
      expect_same_everywhere([&](RowOps& ops) {
        Floats weights;
        for (int i = 0; i < width; ++i) weights.push_back(value_at(9, i));
        const auto weight = std::move(ops.device().upload(weights)).value();
        const View in = ops.input(1, width * heads);
        const View out = ops.output(width * heads);
        ops.device().rms_norm(ops.step(), RowSet::kAll, in, *weight, 1e-5f, out);
        return ops.read(out, ops.step().rows());
      });
    }
  }
}

TEST(CpuRows, GatedActivations) {
  for (const GatedActivation kind : {GatedActivation::kSilu, GatedActivation::kGeluTanh}) {
    for (const int width : kWidths) {
      SCOPED_TRACE(width);
      expect_same_everywhere([&](RowOps& ops) {
        const View gate = ops.input(1, width, 8.0f);
        ops.device().gated_activation(ops.step(), kind, gate, ops.input(2, width), gate);
        return ops.read(gate, ops.step().rows());
      });
    }
  }
}

TEST(CpuRows, AddGatherAndSoftCap) {
  for (const int width : kWidths) {
    SCOPED_TRACE(width);
    expect_same_everywhere([&](RowOps& ops) {
      const View sum = ops.input(1, width);
      ops.device().add(ops.step(), sum, ops.input(2, width));
      const View out = ops.output(width);
      ops.device().gather_logit_rows(ops.step(), sum, out);
      ops.device().soft_cap(ops.step(), 1.5f, out);
      return ops.read(out, ops.step().logit_rows());
    });
  }
}

TEST(CpuRows, RopeRotatesQueriesAndKeys) {
  constexpr int kHeads = 3;
  constexpr int kHeadSize = 46;
  for (const RopeStyle style : {RopeStyle::kHalf, RopeStyle::kInterleaved}) {
    for (const int pairs : {1, 8, 17, kHeadSize / 2}) {
      SCOPED_TRACE(pairs);
      expect_same_everywhere([&](RowOps& ops) {
        RopeSpec spec = {.style = style, .inverse_frequencies = {}, .magnitude = 1.25f};
        for (int i = 0; i < pairs; ++i) {
          spec.inverse_frequencies.push_back(1.0f / static_cast<float>(1 + i * i));
        }
        const auto rope = std::move(ops.device().prepare_rope(spec)).value();
        return rotate_and_attend(ops, *rope, kHeads, kHeadSize);
      });
    }
  }
}

}  // namespace
}  // namespace lockstep::device
