// The contract of device.h for attention: what a position gives is a function of its own sequence's
// tokens up to it. Chunks, neighbours, page placement, what pages held before and what comes later
// do not enter.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/device.h"
#include "device/testing/row_contract.h"

namespace lockstep::device::contract {

struct AttentionCase {
  std::string name;
  LayerGroup group;  // of two layers
  AttendSpec spec;
  std::optional<RopeSpec> rope;
};

// Window, soft cap, both rope styles, partial rotation, odd and unequal head sizes.
std::vector<AttentionCase> attention_cases(CaseSize size);

// Sequences over one pool of one device, a few positions of some of them a step. A position's row
// is the attention of both layers, one after the other.
class SequenceRig {
 public:
  // REQUIRES steps of at most kTokens rows.
  SequenceRig(Device& device, const AttentionCase& attention, int pages);

  // Tokens are those of RowRig. The pages stay the caller's, to be given to one sequence at a time.
  int add(std::vector<int> tokens, std::vector<PageId> pages);

  struct Part {
    int sequence;
    int positions;
  };
  // The next positions of these sequences, in this order. An error is that of end_step().
  Status step(std::span<const Part> parts);
  // All that is left of one sequence, `positions` a step.
  Status finish(int sequence, int positions);

  int remaining(int sequence) const;
  const std::vector<Row>& rows(int sequence) const { return sequences_[sequence].rows; }

 private:
  static constexpr int kLayers = 2;
  struct Sequence {
    std::vector<int> tokens;
    std::vector<PageId> pages;
    std::vector<Row> rows;  // of the positions done
  };
  // Embeddings of one of q, k, v and the buffer they go to.
  struct Input {
    std::unique_ptr<LinearPlan> table;
    std::unique_ptr<Buffer> buffer;
  };

  Input make_input(int width, uint64_t seed);
  std::vector<PageId> table_of(const Sequence& sequence) const;
  void run_layer(const StepView& step, int layer);
  void collect(std::span<const Part> parts);

  Device& device_;
  AttentionCase case_;
  std::unique_ptr<PagePool> pool_;
  std::unique_ptr<RopePlan> rope_;
  Input q_;
  Input k_;
  Input v_;
  std::unique_ptr<Buffer> out_[kLayers];
  std::vector<Sequence> sequences_;
};

// One sequence in one step against the same sequence under every other circumstance.
Differences attention_differences(Device& device, const AttentionCase& attention);

// The errors of a device that compares two (CheckDevice), hostile tokens included.
Differences attention_step_errors(Device& device, const AttentionCase& attention);

}  // namespace lockstep::device::contract
