#include <algorithm>

#include "base/rng.h"
#include "device/testing/attention_contract.h"
#include "device/testing/test_tensors.h"

namespace lockstep::device::contract {
namespace {

constexpr int kGroup = 1;  // group 0 is a decoy that no op touches

// Each layer sees the tokens at a scale of its own.
float embed_scale(int layer) { return layer == 0 ? 0.73105858f : -0.41421356f; }

StateLayout layout_of(const LayerGroup& group) {
  const LayerGroup decoy = {.kind = StateKind::kFull,
                            .window = 0,
                            .layers = 1,
                            .kv_heads = 1,
                            .k_head_size = 2,
                            .v_head_size = 2};
  return {
      .groups = {decoy, group},
      .layers = {
          {.group = kGroup, .index = 0}, {.group = 0, .index = 0}, {.group = kGroup, .index = 1}}};
}

}  // namespace

SequenceRig::SequenceRig(Device& device, const AttentionCase& attention, int pages)
    : device_(device),
      case_(attention),
      q_(make_input(attention.spec.heads * attention.group.k_head_size, 5)),
      k_(make_input(attention.group.kv_heads * attention.group.k_head_size, 6)),
      v_(make_input(attention.group.kv_heads * attention.group.v_head_size, 7)) {
  const int counts[] = {1, pages};
  pool_ = device_.alloc_pages(layout_of(case_.group), counts).value();
  if (case_.rope) rope_ = device_.prepare_rope(*case_.rope).value();
  for (auto& out : out_) {
    out = device_.alloc(kTokens, case_.spec.heads * case_.group.v_head_size).value();
  }
}

SequenceRig::Input SequenceRig::make_input(int width, uint64_t seed) {
  CounterRng rng(seed);
  const TestTensor values = activation_table(kTokens, width, kOrdinaryTokens, rng);
  const LinearWeight weight = {.weight = values.view(), .bias = {}};
  return {.table = device_.prepare({&weight, 1}).value(),
          .buffer = device_.alloc(kTokens, width).value()};
}

int SequenceRig::add(std::vector<int> tokens, std::vector<PageId> pages) {
  LOCKSTEP_CHECK(tokens.size() <= pages.size() * kPagePositions);
  sequences_.push_back({.tokens = std::move(tokens), .pages = std::move(pages), .rows = {}});
  return static_cast<int>(sequences_.size()) - 1;
}

int SequenceRig::remaining(int sequence) const {
  const Sequence& s = sequences_[sequence];
  return static_cast<int>(s.tokens.size() - s.rows.size());
}

// Pages that the next position cannot reach are no pages at all.
std::vector<PageId> SequenceRig::table_of(const Sequence& sequence) const {
  std::vector<PageId> table = sequence.pages;
  if (case_.group.kind != StateKind::kWindow) return table;
  const int first_read = static_cast<int>(sequence.rows.size()) - case_.group.window + 1;
  for (int i = 0; (i + 1) * kPagePositions <= first_read; ++i) table[i] = PageId{-1};
  return table;
}

Status SequenceRig::step(std::span<const Part> parts) {
  std::vector<StepRow> rows;
  std::vector<std::vector<PageId>> tables;
  const std::vector<PageId> decoy = {PageId{-1}};
  for (size_t i = 0; i < parts.size(); ++i) {
    const Sequence& sequence = sequences_[parts[i].sequence];
    tables.push_back(table_of(sequence));
    const auto first = static_cast<int>(sequence.rows.size());
    for (int position = first; position < first + parts[i].positions; ++position) {
      const TokenId token = SampledToken::from_logit_index(sequence.tokens[position]);
      rows.push_back({.sequence = static_cast<int32_t>(i),
                      .position = position,
                      .token = RowToken::of(token)});
    }
  }
  std::vector<StepSequence> sequences;
  for (const auto& table : tables) sequences.push_back({.tables = {decoy, table}});
  const StepView& step =
      device_.begin_step({.rows = rows, .sequences = sequences, .logit_rows = {}, .sampling = {}});
  for (int layer = 0; layer < kLayers; ++layer) run_layer(step, layer);
  LOCKSTEP_RETURN_IF_ERROR(device_.end_step());
  collect(parts);
  return ok_status();
}

void SequenceRig::run_layer(const StepView& step, int layer) {
  for (const Input* input : {&q_, &k_, &v_}) {
    device_.embed(step, *input->table, embed_scale(layer), *input->buffer);
  }
  const StateLayer state = {.group = kGroup, .index = layer};
  device_.rope_and_append(step, rope_.get(), *pool_, state, *q_.buffer, *k_.buffer, *v_.buffer);
  device_.attend(step, *pool_, state, case_.spec, *q_.buffer, *out_[layer]);
}

void SequenceRig::collect(std::span<const Part> parts) {
  int row = 0;
  for (const Part& part : parts) {
    for (int i = 0; i < part.positions; ++i, ++row) {
      Row both;
      for (const auto& out : out_) {
        Row one(out->width());
        device_.read(*out, row, one);
        both.insert(both.end(), one.begin(), one.end());
      }
      sequences_[part.sequence].rows.push_back(std::move(both));
    }
  }
}

Status SequenceRig::finish(int sequence, int positions) {
  while (remaining(sequence) > 0) {
    const Part part = {sequence, std::min(positions, remaining(sequence))};
    LOCKSTEP_RETURN_IF_ERROR(step({&part, 1}));
  }
  return ok_status();
}

}  // namespace lockstep::device::contract
