#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/rng.h"
#include "device/check/check_device.h"
#include "device/check/trace_device.h"
#include "device/reference/reference_device.h"
#include "device/testing/row_contract.h"
#include "device/testing/row_count_device.h"
#include "device/testing/test_tensors.h"

namespace lockstep::device {
namespace {

using testing::ElementsAre;
using testing::StartsWith;

constexpr Profile kProfile = {.arithmetic = Arithmetic::kF32, .kv = KvType::kF32};

// embed, norm and a matrix over `rows` rows: enough of a model for one step.
class TinyModel {
 public:
  static constexpr int kWidth = 40;

  explicit TinyModel(Device& device) : device_(device) {
    CounterRng rng(1);
    const contract::TestTensor weight = contract::random_tensor(DType::kF32, 64, kWidth, rng);
    const LinearWeight stacked = {.weight = weight.view(), .bias = {}};
    plan_ = device.prepare({&stacked, 1}).value();
    norm_ = device.upload(std::vector<float>(kWidth, 1.5f)).value();
    x_ = device.alloc(64, kWidth).value();
    y_ = device.alloc(64, 64).value();
  }

  Status step(int rows) {
    std::vector<StepRow> step_rows;
    for (int i = 0; i < rows; ++i) {
      const TokenId token = SampledToken::from_logit_index(i);
      step_rows.push_back({.sequence = i, .position = 0, .token = RowToken::of(token)});
    }
    const std::vector<StepSequence> sequences(rows);
    const StepView& step = device_.begin_step(
        {.rows = step_rows, .sequences = sequences, .logit_rows = {}, .sampling = {}});
    device_.embed(step, *plan_, 1.0f, *x_);
    device_.rms_norm(step, RowSet::kAll, *x_, *norm_, 1e-5f, *x_);
    device_.linear(step, RowSet::kAll, *plan_, *x_, *y_);
    return device_.end_step();
  }

 private:
  Device& device_;
  std::unique_ptr<LinearPlan> plan_;
  std::unique_ptr<Vector> norm_;
  std::unique_ptr<Buffer> x_;
  std::unique_ptr<Buffer> y_;
};

TEST(CheckDevice, EqualDevicesPass) {
  const auto first = make_reference_device(kProfile);
  const auto second = make_reference_device(kProfile);
  CheckDevice both(*first, *second);
  TinyModel model(both);
  EXPECT_EQ(model.step(20), ok_status());
}

TEST(CheckDevice, TheFirstDifferenceIsNamedAndTheNextStepStartsClean) {
  const auto first = make_reference_device(kProfile);
  const auto inner = make_reference_device(kProfile);
  contract::RowCountDevice second(*inner);
  CheckDevice both(*first, second);
  TinyModel model(both);
  EXPECT_THAT(message_of(model.step(20)),
              StartsWith("reference checked against reference: op 3 of the step, linear: row 0 "
                         "column "));
  EXPECT_EQ(model.step(2), ok_status());
}

TEST(TraceDevice, EqualStepsLeaveEqualLinesAndADifferenceShowsAtItsOp) {
  const auto lines_of = [](Device& device, int rows) {
    TraceDevice trace(device);
    TinyModel model(trace);
    EXPECT_EQ(model.step(rows), ok_status());
    return trace.lines();
  };
  const auto reference = make_reference_device(kProfile);
  contract::RowCountDevice other(*reference);
  const std::vector<std::string> lines = lines_of(*reference, 20);
  EXPECT_THAT(lines,
              ElementsAre(StartsWith("embed "), StartsWith("rms_norm "), StartsWith("linear ")));
  EXPECT_EQ(lines_of(*reference, 20), lines);
  EXPECT_THAT(lines_of(other, 20), ElementsAre(lines[0], lines[1], testing::Ne(lines[2])));
}

}  // namespace
}  // namespace lockstep::device
