// THE seam. A Device owns bytes and runs a closed list of row-wise ops; model code is plain C++
// over it and reads like the paper.
//
// The contract. *Row i of every output is a function of row i of the inputs, the weights and, for
// sequence ops, the pages and position of row i's own sequence. It is the same bits for any number,
// order or content of the other rows.* So nothing here takes a batch: reductions are fixed when a
// plan is made, from weight shape and type, before any row exists.
//
// Life of a step, on the engine's one thread:
//   const StepView& step = device.begin_step(input);   // per-step values become device-visible
//   device.embed(...); device.linear(...); ...          // ops take handles, never per-step values
//   device.end_step();                                  // Status: everything above has run
//   device.read_logits(...); device.sampled(...);
// A device may queue ops and run them late, record a step and replay it: only end_step() and the
// readers wait. Ops cannot fail one by one; a fault of the device comes out of end_step().
//
// Arithmetic of each op: the comment beside it, in the terms of docs/numerics.md. ReferenceDevice
// is the executable definition. All devices compute with FTZ and DAZ set and round to nearest even.
// Which outputs are NaN is fixed, their payload is not.
//
// Thread rule: one thread drives a device. Ownership: plans, buffers and pools are owned by the
// caller and must die before the device. REQUIRES are our own invariants: what comes from outside
// has been checked before it gets here.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/profile.h"
#include "base/sampling.h"
#include "base/state_layout.h"
#include "base/status.h"
#include "base/tensor_view.h"
#include "base/vocabulary.h"

namespace lockstep::device {

// ---- Things a device owns for its caller
// ---------------------------------------------------------

// Activations: [max_rows, width] f32 between ops (a device may hold them otherwise; nobody sees).
class Buffer {
 public:
  virtual ~Buffer() = default;
  int rows() const { return rows_; }
  int width() const { return width_; }

 protected:
  Buffer(int rows, int width) : rows_(rows), width_(width) {}

 private:
  int rows_;
  int width_;
};

// Columns [first, first + width) of every row of a buffer.
struct View {
  Buffer* buffer = nullptr;
  int first = 0;
  int width = 0;

  View() = default;
  View(Buffer& b) : buffer(&b), first(0), width(b.width()) {}  // NOLINT: a whole buffer is a view
  View(Buffer& b, int first_column, int columns)
      : buffer(&b), first(first_column), width(columns) {}
};

// One weight matrix [outputs, inputs] with an optional bias [outputs].
struct LinearWeight {
  TensorView weight;
  std::optional<TensorView> bias;
};

// What `prepare` froze: packing, tiles, slices, instruction. Several weights with the same inputs
// may be stacked along the outputs (q|k|v, gate|up); stacking changes no bit of any output.
class LinearPlan {
 public:
  virtual ~LinearPlan() = default;
  int64_t outputs() const { return outputs_; }
  int64_t inputs() const { return inputs_; }
  int64_t bytes() const { return bytes_; }  // what one row of `linear` must read

 protected:
  LinearPlan(int64_t outputs, int64_t inputs) : outputs_(outputs), inputs_(inputs) {}
  int64_t bytes_ = 0;

 private:
  int64_t outputs_;
  int64_t inputs_;
};

// A vector of f32 on the device (norm weights).
class Vector {
 public:
  virtual ~Vector() = default;
  int size() const { return size_; }

 protected:
  explicit Vector(int size) : size_(size) {}

 private:
  int size_;
};

enum class RopeStyle : uint8_t {
  kHalf,         // pairs (i, i + rotary/2): Hugging Face layout
  kInterleaved,  // pairs (2i, 2i + 1): GGUF files of the llama architecture
};

// angle(position, i) = f32(position) * inverse_frequency[i], i in [0, rotary / 2); cos and sin are
// ours (base/math.h) and are multiplied by `magnitude`. Dimensions from `rotary` on pass unchanged.
struct RopeSpec {
  RopeStyle style = RopeStyle::kHalf;
  std::vector<float> inverse_frequencies;  // rotary / 2 of them
  float magnitude = 1.0f;                  // yarn's attention factor
};

class RopePlan {
 public:
  virtual ~RopePlan() = default;
};

// The bytes of all pages of all groups. Accounting (who owns which page) is kv/'s.
class PagePool {
 public:
  virtual ~PagePool() = default;
  const StateLayout& layout() const { return layout_; }
  int pages(int group) const { return pages_[static_cast<size_t>(group)]; }

 protected:
  PagePool(StateLayout layout, std::vector<int> pages)
      : layout_(std::move(layout)), pages_(std::move(pages)) {}

 private:
  StateLayout layout_;
  std::vector<int> pages_;
};

// ---- One step
// ------------------------------------------------------------------------------------

// A row's token: an id, or what a logit row of the previous step sampled (so that step n + 1 can be
// queued before the host has read step n's tokens).
class RowToken {
 public:
  static RowToken of(TokenId id) { return RowToken(id.value(), false); }
  static RowToken sampled_by(int logit_row) { return RowToken(logit_row, true); }
  bool is_sampled() const { return sampled_; }
  int32_t value() const { return value_; }  // id, or index into the previous step's logit rows

 private:
  RowToken(int32_t value, bool sampled) : value_(value), sampled_(sampled) {}
  int32_t value_;
  bool sampled_;
};

struct StepRow {
  int32_t sequence = 0;  // index into StepInput::sequences
  int32_t position = 0;  // absolute
  RowToken token;
};

// Page tables of one sequence in this step, one a group: entry i holds positions [32 i, 32 i + 32).
// Entries that no row of the step can reach (behind a window) may be any value.
struct StepSequence {
  std::vector<std::span<const PageId>> tables;
};

// REQUIRES: rows of one sequence are consecutive with positions ascending by one, and every
// position below a row's own has been appended by this or an earlier step; rows.size() <= max_rows
// of the buffers used. Rows of different sequences may come in any order. No rows is legal.
struct StepInput {
  std::span<const StepRow> rows;
  std::span<const StepSequence> sequences;
  std::span<const int32_t> logit_rows;    // indices into rows: which rows reach the head
  std::span<const RowSampling> sampling;  // one a logit row, or empty: nothing is sampled
};

// Device-visible form of a StepInput; valid until the next begin_step. Opaque to models.
class StepView {
 public:
  virtual ~StepView() = default;
  int rows() const { return rows_; }
  int logit_rows() const { return logit_rows_; }

 protected:
  int rows_ = 0;
  int logit_rows_ = 0;
};

// Which rows an op runs over: all of the step, or those gathered for the head.
enum class RowSet : uint8_t { kAll, kLogits };

inline int row_count(const StepView& step, RowSet rows) {
  return rows == RowSet::kAll ? step.rows() : step.logit_rows();
}

enum class GatedActivation : uint8_t {
  kSilu,      // x / (1 + exp(-x))
  kGeluTanh,  // (0.5 x) (1 + tanh(sqrt(2/pi) fma(0.044715 (x x), x, x)))
};

// One layer's attention. Query head h reads K/V head h / (heads / kv_heads).
struct AttendSpec {
  int heads = 0;
  float scale = 0.0f;
  float soft_cap = 0.0f;  // 0: none; else s -> cap * tanh(s / cap) after scaling
};

// ---- The device
// ----------------------------------------------------------------------------------

class Device {
 public:
  virtual ~Device() = default;

  virtual std::string description() const = 0;  // "cpu (avx512_bf16, 2 threads)"
  virtual const Profile& profile() const = 0;

  // -- Load time. Everything that can be refused is refused here, with numbers.

  // Zeroed. resource_exhausted if the bytes cannot be had.
  virtual StatusOr<std::unique_ptr<Buffer>> alloc(int max_rows, int width) = 0;
  virtual StatusOr<std::unique_ptr<Vector>> upload(std::span<const float> values) = 0;

  // Copies what it needs: the caller may unmap the tensors afterwards. invalid_argument when shapes
  // do not stack, unimplemented when the profile cannot run a type (by name).
  virtual StatusOr<std::unique_ptr<LinearPlan>> prepare(std::span<const LinearWeight> stacked) = 0;
  virtual StatusOr<std::unique_ptr<RopePlan>> prepare_rope(const RopeSpec& spec) = 0;

  // Bytes of one page of a group; invalid_argument where its geometry cannot be held.
  virtual StatusOr<int64_t> page_bytes(const LayerGroup& group) const = 0;

  // One entry of pages_per_group a group. Pages are not zeroed: no kernel reads a position that its
  // sequence has not appended.
  virtual StatusOr<std::unique_ptr<PagePool>> alloc_pages(const StateLayout& layout,
                                                          std::span<const int> pages_per_group) = 0;

  // Before the step whose rows write into the copies. In order: a page may be read by one copy and
  // written by a later one.
  virtual void copy_pages(PagePool& pool, std::span<const PageCopy> copies) = 0;

  // -- A step.

  virtual const StepView& begin_step(const StepInput& input) = 0;
  virtual Status end_step() = 0;

  // -- Ops. [rows] is step.rows(), or step.logit_rows() with RowSet::kLogits. Output views never
  // overlap input views unless the op says "in place".

  // out[i] = scale * table row of token i, dequantised exactly (then rounded to bf16 where the plan
  // holds bf16). One f32 multiply; scale 1 multiplies too.
  virtual void embed(const StepView& step, const LinearPlan& table, float scale, View out) = 0;

  // RMS norm over each of out.width / weight.size() heads of a row:
  //   s = 16 lanes, lane j adds fma(x, x, .) over x[j], x[j+16], ...; tree +8, +4, +2, +1
  //   r = 1 / sqrt(s / n + eps);  out = (x * r) * weight
  // In place allowed.
  virtual void rms_norm(const StepView& step, RowSet rows, View in, const Vector& weight, float eps,
                        View out) = 0;

  // out = plan x in (+ bias, one add after the last slice). Order by the plan's type: numerics.md.
  virtual void linear(const StepView& step, RowSet rows, const LinearPlan& plan, View in,
                      View out) = 0;

  // Rotates q in place ([heads, k_head_size] a row) and k ([kv_heads, k_head_size]), then appends k
  // and v to the row's page in the K/V type. With c, s of the row's position and pair (a, b):
  //   a' = fma(a, c, -(b * s));  b' = fma(b, c, a * s)
  // k may be rotated in place. `rope` null: no rotation.
  virtual void rope_and_append(const StepView& step, const RopePlan* rope, PagePool& pool,
                               StateLayer layer, View q, View k, View v) = 0;

  // Causal attention over the row's own sequence, positions (t - window, t] for kWindow groups, in
  // chunks of 256 positions aligned to position 0, merged ascending. Order: numerics.md.
  // out is [heads, v_head_size] a row.
  virtual void attend(const StepView& step, const PagePool& pool, StateLayer layer,
                      const AttendSpec& spec, View q, View out) = 0;

  // out = act(gate) * up. In place allowed.
  virtual void gated_activation(const StepView& step, GatedActivation kind, View gate, View up,
                                View out) = 0;

  // x += y.
  virtual void add(const StepView& step, View x, View y) = 0;

  // out row j = in row logit_rows[j].
  virtual void gather_logit_rows(const StepView& step, View in, View out) = 0;

  // x = cap * tanh(x / cap), on logit rows, in place.
  virtual void soft_cap(const StepView& step, float cap, View x) = 0;

  // Draws one token a logit row by StepInput::sampling; see base/sampling.h. No-op without
  // sampling.
  virtual void sample(const StepView& step, View logits) = 0;

  // -- Readers, after end_step().

  // Row j of a buffer as f32; NaNs canonical (0x7fc00000). REQUIRES out.size() == width.
  virtual void read(const Buffer& buffer, int row, std::span<float> out) const = 0;
  // The tokens that `sample` drew in the last ended step, one a logit row.
  virtual std::span<const TokenId> sampled() const = 0;
};

}  // namespace lockstep::device
