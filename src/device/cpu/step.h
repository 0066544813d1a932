// A step on the CPU: the StepInput, copied and laid out for the ops.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/device.h"

namespace lockstep::device::cpu {

class CpuStep final : public StepView {
 public:
  // Consecutive rows of one sequence.
  struct Segment {
    int first_row;
    int rows;
    int first_position;
    int sequence;
  };

  // `previous` is what the last ended step drew, for rows whose token is sampled_by a logit row.
  void assign(const StepInput& input, std::span<const TokenId> previous);

  std::span<const Segment> segments() const { return segments_; }
  std::span<const int32_t> tokens() const { return tokens_; }        // [rows]
  std::span<const int32_t> positions() const { return positions_; }  // [rows]
  std::span<const int32_t> row_sequences() const { return row_sequences_; }
  std::span<const int32_t> logit_row_indices() const { return logit_row_indices_; }
  std::span<const RowSampling> sampling() const { return sampling_; }

  // Page ids of a sequence in a group, entry i for positions [32 i, 32 i + 32).
  const int32_t* page_table(int sequence, int group) const {
    const size_t first = static_cast<size_t>(sequence) * static_cast<size_t>(groups_);
    return tables_.data() + table_starts_[first + static_cast<size_t>(group)];
  }
  int rows_of(RowSet set) const { return set == RowSet::kAll ? rows() : logit_rows(); }

  // Differs from that of every earlier step of the device.
  int64_t serial() const { return serial_; }

 private:
  std::vector<Segment> segments_;
  std::vector<int32_t> tokens_;
  std::vector<int32_t> positions_;
  std::vector<int32_t> row_sequences_;
  std::vector<int32_t> logit_row_indices_;
  std::vector<RowSampling> sampling_;
  std::vector<int32_t> tables_;
  std::vector<size_t> table_starts_;
  int groups_ = 0;
  int64_t serial_ = 0;
};

}  // namespace lockstep::device::cpu
