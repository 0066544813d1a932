#include "device/cpu/linear.h"

#include <algorithm>
#include <vector>

#include "base/checked.h"
#include "device/cpu/line_buffer.h"
#include "device/cpu/packed_linear.h"
#include "device/cpu/packed_panel.h"

namespace lockstep::device::cpu {
namespace {

// As few tiles as cover the rows, as equal as can be: a small last tile would be slow. A row's
// terms stay in one tile.
void split_rows(int rows, const ActivationFormat& format, std::vector<RowTile>& tiles) {
  const int64_t count = ceil_div(rows, format.tile_rows / format.terms);
  tiles.resize(static_cast<size_t>(count));
  for (int64_t t = 0; t < count; ++t) {
    const auto first = static_cast<int>(t * rows / count);
    const auto end = static_cast<int>((t + 1) * rows / count);
    tiles[static_cast<size_t>(t)] = {first * format.terms, (end - first) * format.terms};
  }
}

// The rows of a call as one kind of activations.
struct PackedRows {
  std::vector<RowTile> tiles;
  int64_t slice_bytes = 0;  // of a full slice, all rows
  LineBuffer memory;
  const std::byte* data = nullptr;
};

}  // namespace

struct LinearScratch::Memory {
  PackedRows rows[kActivationKinds];
  LineBuffer panels;  // kPanelScratchBytes a worker
};

LinearScratch::LinearScratch() : memory_(std::make_unique<Memory>()) {}
LinearScratch::~LinearScratch() = default;

namespace {

// Up to here one thread packs faster than the pool wakes: about a microsecond.
constexpr int64_t kElementsPackedAlone = 4096;
// Chunks of panels a thread, so that a late thread leaves work to the others.
constexpr int64_t kChunksAThread = 4;

struct Input {
  const float* data;
  ptrdiff_t stride;
  int rows;
  int64_t inputs;
};

void pack_rows(const ActivationFormat& format, const Input& in, ThreadPool& pool, PackedRows& to) {
  split_rows(in.rows, format, to.tiles);
  const int64_t slices = ceil_div(in.inputs, kSliceElements);
  const int64_t slice_units = kSliceElements / format.unit_elements;
  to.slice_bytes = slice_units * format.unit_bytes * in.rows * format.terms;
  std::byte* data = to.memory.reserve(static_cast<size_t>(slices * to.slice_bytes));
  to.data = data;
  const auto tiles = static_cast<int64_t>(to.tiles.size());
  const auto pack_one = [&](int64_t index, int) {
    const RowTile tile = to.tiles[static_cast<size_t>(index % tiles)];
    const int64_t slice = index / tiles;
    const int64_t k = slice * kSliceElements;
    const auto elements = static_cast<int>(std::min<int64_t>(kSliceElements, in.inputs - k));
    const int64_t units = ceil_div(elements, format.unit_elements);
    const float* from = in.data + tile.first_row / format.terms * in.stride + k;
    format.pack(from, in.stride, tile.rows, elements,
                data + slice * to.slice_bytes + tile.first_row * units * format.unit_bytes);
  };
  if (in.rows * in.inputs <= kElementsPackedAlone) {
    for (int64_t i = 0; i < slices * tiles; ++i) pack_one(i, 0);
  } else {
    pool.run(slices * tiles, pack_one);
  }
}

const PackedLinear::Segment& segment_of_panel(const PackedLinear& plan, int64_t panel) {
  const auto segments = plan.segments();
  size_t i = 0;
  while (panel >= segments[i].first_panel + segments[i].panels) ++i;
  return segments[i];
}

// Rows of one call, whatever activations its segments take.
constexpr int kMaxCallRows = kMaxPanelRows / kInt8Terms;

struct Output {
  float* data;
  ptrdiff_t stride;
};

void multiply_one_panel(const LinearKernels& kernels, const PackedLinear& plan, int64_t panel,
                        std::span<const PackedRows> rows, Output out, std::byte* scratch) {
  const PackedLinear::Segment& segment = segment_of_panel(plan, panel);
  const auto kind = static_cast<size_t>(activation_kind(segment.packing));
  const PackedRows& packed = rows[kind];
  const int64_t p = panel - segment.first_panel;
  const int64_t output = p * kPanelOutputs;
  kernels.panel[static_cast<size_t>(segment.packing)]({
      .panel = segment.data + p * segment.panel_bytes,
      .inputs = plan.inputs(),
      .activations = packed.data,
      .activation_slice_bytes = packed.slice_bytes,
      .tiles = packed.tiles.data(),
      .tile_count = static_cast<int>(packed.tiles.size()),
      .terms = kernels.activations[kind].terms,
      .bias = segment.bias.empty() ? nullptr : segment.bias.data() + output,
      .out = out.data + segment.first_output + output,
      .out_stride = out.stride,
      .outputs = static_cast<int>(std::min<int64_t>(kPanelOutputs, segment.outputs - output)),
      .scratch = scratch,
  });
}

// REQUIRES in.rows <= kMaxCallRows.
void multiply_rows(const LinearKernels& kernels, ThreadPool& pool, std::span<PackedRows> rows,
                   LineBuffer& scratch_memory, const PackedLinear& plan, const Input& in,
                   Output out) {
  bool packed[kActivationKinds] = {};
  for (const PackedLinear::Segment& segment : plan.segments()) {
    const auto kind = static_cast<size_t>(activation_kind(segment.packing));
    if (!packed[kind]) pack_rows(kernels.activations[kind], in, pool, rows[kind]);
    packed[kind] = true;
  }
  const int64_t threads = pool.threads();
  std::byte* scratch = scratch_memory.reserve(static_cast<size_t>(threads) * kPanelScratchBytes);
  const int64_t panels = plan.panels();
  const int64_t chunk = std::max<int64_t>(1, panels / (threads * kChunksAThread));
  pool.run(ceil_div(panels, chunk), [&](int64_t index, int worker) {
    std::byte* own = scratch + static_cast<size_t>(worker) * kPanelScratchBytes;
    const int64_t end = std::min(panels, (index + 1) * chunk);
    for (int64_t p = index * chunk; p < end; ++p) {
      multiply_one_panel(kernels, plan, p, rows, out, own);
    }
  });
}

}  // namespace

StatusOr<std::unique_ptr<LinearPlan>> pack_linear(std::span<const LinearWeight> stacked,
                                                  Arithmetic arithmetic, ThreadPool& pool,
                                                  PackedArena& arena) {
  LOCKSTEP_ASSIGN_OR_RETURN(std::unique_ptr<LinearPlan> plan,
                            PackedLinear::pack(stacked, arithmetic, pool, arena));
  return plan;
}

void run_linear(const LinearKernels& kernels, ThreadPool& pool, LinearScratch& scratch,
                const LinearPlan& plan, const float* in, ptrdiff_t in_stride, float* out,
                ptrdiff_t out_stride, int rows) {
  LinearScratch::Memory& memory = *scratch.memory_;
  const auto& packed = static_cast<const PackedLinear&>(plan);
  for (int first = 0; first < rows; first += kMaxCallRows) {
    const Input input = {
        .data = in + first * in_stride,
        .stride = in_stride,
        .rows = std::min(kMaxCallRows, rows - first),
        .inputs = packed.inputs(),
    };
    multiply_rows(kernels, pool, memory.rows, memory.panels, packed, input,
                  {out + first * out_stride, out_stride});
  }
}

void embed_row(const LinearPlan& plan, int32_t output, float scale, float* out) {
  const auto& packed = static_cast<const PackedLinear&>(plan);
  const auto segments = packed.segments();
  size_t i = 0;
  while (output >= segments[i].first_output + segments[i].outputs) ++i;
  const PackedLinear::Segment& segment = segments[i];
  const int64_t local = output - segment.first_output;
  const std::byte* panel = segment.data + local / kPanelOutputs * segment.panel_bytes;
  read_panel_row(segment.packing, panel, static_cast<int>(local % kPanelOutputs), plan.inputs(),
                 out);
  for (int64_t k = 0; k < plan.inputs(); ++k) out[k] = scale * out[k];
}

}  // namespace lockstep::device::cpu
