#include "device/cpu/step.h"

namespace lockstep::device::cpu {

void CpuStep::assign(const StepInput& input, std::span<const TokenId> previous) {
  ++serial_;
  rows_ = static_cast<int>(input.rows.size());
  logit_rows_ = static_cast<int>(input.logit_rows.size());
  segments_.clear();
  tokens_.clear();
  positions_.clear();
  row_sequences_.clear();
  for (const StepRow& row : input.rows) {
    const auto token = static_cast<size_t>(row.token.value());
    LOCKSTEP_CHECK(!row.token.is_sampled() || token < previous.size());
    tokens_.push_back(row.token.is_sampled() ? previous[token].value() : row.token.value());
    positions_.push_back(row.position);
    row_sequences_.push_back(row.sequence);
    if (segments_.empty() || segments_.back().sequence != row.sequence) {
      segments_.push_back({.first_row = static_cast<int>(positions_.size()) - 1,
                           .rows = 0,
                           .first_position = row.position,
                           .sequence = row.sequence});
    }
    LOCKSTEP_CHECK(row.position == segments_.back().first_position + segments_.back().rows);
    ++segments_.back().rows;
  }

  tables_.clear();
  table_starts_.clear();
  groups_ = input.sequences.empty() ? 0 : static_cast<int>(input.sequences[0].tables.size());
  for (const StepSequence& sequence : input.sequences) {
    for (const std::span<const PageId> table : sequence.tables) {
      table_starts_.push_back(tables_.size());
      for (const PageId page : table) tables_.push_back(page.value);
    }
  }
  logit_row_indices_.assign(input.logit_rows.begin(), input.logit_rows.end());
  sampling_.assign(input.sampling.begin(), input.sampling.end());
}

}  // namespace lockstep::device::cpu
