// The contract of device.h for ops on rows: row i of an output is a function of row i of the
// inputs. Each op is a RowCase; the checks return what differed, so that a device that breaks the
// contract on purpose can be shown to fail them.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/device.h"

namespace lockstep::device::contract {

using Row = std::vector<float>;  // as Device::read gives it
using Differences = std::vector<std::string>;

bool same_bits(const Row& a, const Row& b);

// Reads `in`, [rows, in_width], writes `out`, [rows, out_width].
using RowOp = std::function<void(const StepView& step, View in, View out)>;

struct RowCase {
  std::string name;
  int in_width;
  int out_width;
  RowSet rows;
  std::function<RowOp(Device&)> prepare;  // makes what the op needs
};

enum class CaseSize { kSmall, kLarge };  // small: a scalar device takes a moment for each

// Every op on rows, with every matrix type under this arithmetic, at odd and even shapes.
std::vector<RowCase> row_cases(Arithmetic arithmetic, CaseSize size);

// Tokens of the activation table that a rig feeds: 0 to kOrdinaryTokens - 1, then hostile ones.
inline constexpr int kOrdinaryTokens = 512;
inline constexpr int kTokens = kOrdinaryTokens + 6;

// One op on one device.
class RowRig {
 public:
  RowRig(Device& device, const RowCase& op);

  // One step over one row a token. An error is that of end_step().
  StatusOr<std::vector<Row>> run(std::span<const int> tokens);

 private:
  Device& device_;
  RowSet rows_;
  RowOp op_;
  std::unique_ptr<LinearPlan> table_;
  std::unique_ptr<Buffer> in_;
  std::unique_ptr<Buffer> gathered_;
  std::unique_ptr<Buffer> out_;
};

// Each row alone against the same row among 2 to 512, permuted, repeated, beside hostile rows.
Differences row_differences(Device& device, const RowCase& op);

// The errors of a device that compares two (CheckDevice) over ordinary and hostile rows.
Differences step_errors(Device& device, const RowCase& op);

}  // namespace lockstep::device::contract
