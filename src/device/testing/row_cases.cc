#include "base/rng.h"
#include "device/testing/row_contract.h"
#include "device/testing/test_tensors.h"

namespace lockstep::device::contract {
namespace {

constexpr DType kPlain[] = {DType::kF32, DType::kF16, DType::kBF16};

// A cheap seed that differs from case to case.
uint64_t seed_of(DType dtype, int64_t outputs, int64_t inputs) {
  return (static_cast<uint64_t>(dtype) << 48) ^ (static_cast<uint64_t>(outputs) << 24) ^
         static_cast<uint64_t>(inputs);
}

RowCase linear_case(DType dtype, int outputs, int inputs, RowSet rows, bool bias) {
  return {
      .name = fmt::format("linear {} [{}, {}]{}{}", dtype_name(dtype), outputs, inputs,
                          bias ? " with bias" : "", rows == RowSet::kLogits ? " of logits" : ""),
      .in_width = inputs,
      .out_width = outputs,
      .rows = rows,
      .prepare = [=](Device& device) -> RowOp {
        CounterRng rng(seed_of(dtype, outputs, inputs));
        const TestTensor weight = random_tensor(dtype, outputs, inputs, rng);
        const TestTensor bias_values = random_tensor(DType::kF32, outputs, 0, rng);
        LinearWeight stacked = {.weight = weight.view(), .bias = {}};
        if (bias) stacked.bias = bias_values.view();
        const std::shared_ptr<LinearPlan> plan = device.prepare({&stacked, 1}).value();
        return [&device, plan, rows](const StepView& step, View in, View out) {
          device.linear(step, rows, *plan, in, out);
        };
      }};
}

// Three weights of different types and heights in one plan.
RowCase stacked_case(std::vector<DType> dtypes, int inputs) {
  constexpr int kHeights[] = {33, 5, 40};
  return {.name = fmt::format("linear of {} stacked", dtypes.size()),
          .in_width = inputs,
          .out_width = 33 + 5 + 40,
          .rows = RowSet::kAll,
          .prepare = [=](Device& device) -> RowOp {
            CounterRng rng(29);
            std::vector<TestTensor> weights;
            for (int i = 0; i < 3; ++i) {
              weights.push_back(random_tensor(dtypes[i], kHeights[i], inputs, rng));
            }
            const TestTensor bias = random_tensor(DType::kBF16, kHeights[1], 0, rng);
            std::vector<LinearWeight> stacked;
            for (const TestTensor& w : weights) stacked.push_back({w.view(), {}});
            stacked[1].bias = bias.view();
            const std::shared_ptr<LinearPlan> plan = device.prepare(stacked).value();
            return [&device, plan](const StepView& step, View in, View out) {
              device.linear(step, RowSet::kAll, *plan, in, out);
            };
          }};
}

RowCase embed_case(DType dtype, int width) {
  return {.name = fmt::format("embed {} of {}", dtype_name(dtype), width),
          .in_width = 2,
          .out_width = width,
          .rows = RowSet::kAll,
          .prepare = [=](Device& device) -> RowOp {
            CounterRng rng(seed_of(dtype, kTokens, width));
            const TestTensor table = random_tensor(dtype, kTokens, width, rng);
            const LinearWeight stacked = {table.view(), {}};
            const std::shared_ptr<LinearPlan> plan = device.prepare({&stacked, 1}).value();
            return [&device, plan](const StepView& step, View, View out) {
              device.embed(step, *plan, 5.6568542f, out);
            };
          }};
}

RowCase norm_case(int head_size, int heads, RowSet rows) {
  const int width = head_size * heads;
  return {.name = fmt::format("rms_norm of {} heads of {}", heads, head_size),
          .in_width = width,
          .out_width = width,
          .rows = rows,
          .prepare = [=](Device& device) -> RowOp {
            std::vector<float> values;
            CounterRng rng(31);
            for (int i = 0; i < head_size; ++i) {
              values.push_back(static_cast<float>(rng.between(1, 4000)) * 0x1p-11f);
            }
            const std::shared_ptr<Vector> weight = device.upload(values).value();
            return [&device, weight, rows](const StepView& step, View in, View out) {
              device.rms_norm(step, rows, in, *weight, 1e-5f, out);
            };
          }};
}

// gate and up are the two halves of the input.
RowCase gated_case(GatedActivation kind, int width) {
  return {.name = fmt::format("{} of {}", kind == GatedActivation::kSilu ? "silu" : "gelu", width),
          .in_width = 2 * width,
          .out_width = width,
          .rows = RowSet::kAll,
          .prepare = [=](Device& device) -> RowOp {
            return [&device, kind, width](const StepView& step, View in, View out) {
              device.gated_activation(step, kind, View(*in.buffer, 0, width),
                                      View(*in.buffer, width, width), out);
            };
          }};
}

// The second half of the input is added to the activation of both.
RowCase add_case(int width) {
  return {.name = fmt::format("add of {}", width),
          .in_width = 2 * width,
          .out_width = width,
          .rows = RowSet::kAll,
          .prepare = [=](Device& device) -> RowOp {
            return [&device, width](const StepView& step, View in, View out) {
              const View first(*in.buffer, 0, width);
              const View second(*in.buffer, width, width);
              device.gated_activation(step, GatedActivation::kSilu, first, second, out);
              device.add(step, out, second);
            };
          }};
}

RowCase gather_and_cap_case(int width) {
  return {.name = fmt::format("soft_cap of {}", width),
          .in_width = width,
          .out_width = width,
          .rows = RowSet::kLogits,
          .prepare = [=](Device& device) -> RowOp {
            const std::shared_ptr<Vector> ones =
                device.upload(std::vector<float>(width, 1.0f)).value();
            return [&device, ones](const StepView& step, View in, View out) {
              device.rms_norm(step, RowSet::kLogits, in, *ones, 0.0f, out);
              device.soft_cap(step, 1.5f, out);
            };
          }};
}

struct MatrixShape {
  int outputs;
  int inputs;
};

void add_linear_cases(Arithmetic arithmetic, CaseSize size, std::vector<RowCase>& cases) {
  // K across a slice, odd where a type allows it; outputs across a panel of 32.
  const bool large = size == CaseSize::kLarge;
  const auto plain_shapes = large ? std::vector<MatrixShape>{{70, 1057}, {33, 64}, {5, 1}}
                                  : std::vector<MatrixShape>{{3, 545}, {2, 1}};
  const MatrixShape block_shape = large ? MatrixShape{37, 1280} : MatrixShape{3, 768};
  for (DType dtype : kPlain) {
    for (const MatrixShape& s : plain_shapes) {
      cases.push_back(linear_case(dtype, s.outputs, s.inputs, RowSet::kAll, false));
    }
  }
  // Without int8 activations a block type is its values, so that one stands for all.
  for (DType dtype : kBlockTypes) {
    if (arithmetic != Arithmetic::kInt8 && dtype != DType::kQ5_K) continue;
    cases.push_back(
        linear_case(dtype, block_shape.outputs, block_shape.inputs, RowSet::kAll, false));
  }
  cases.push_back(linear_case(DType::kQ8_0, 4, 544, RowSet::kLogits, true));
  cases.push_back(linear_case(DType::kBF16, 4, 515, RowSet::kLogits, true));
  cases.push_back(stacked_case({DType::kBF16, DType::kF32, DType::kF16}, 31));
  if (arithmetic == Arithmetic::kInt8) {
    cases.push_back(stacked_case({DType::kQ4_K, DType::kF32, DType::kQ6_K}, 256));
  }
}

}  // namespace

std::vector<RowCase> row_cases(Arithmetic arithmetic, CaseSize size) {
  std::vector<RowCase> cases;
  add_linear_cases(arithmetic, size, cases);
  for (DType dtype : kPlain) cases.push_back(embed_case(dtype, 37));
  for (DType dtype : kBlockTypes) cases.push_back(embed_case(dtype, 256));
  cases.push_back(norm_case(1, 1, RowSet::kAll));
  cases.push_back(norm_case(77, 1, RowSet::kLogits));
  cases.push_back(norm_case(18, 3, RowSet::kAll));
  cases.push_back(gated_case(GatedActivation::kSilu, 45));
  cases.push_back(gated_case(GatedActivation::kGeluTanh, 45));
  cases.push_back(add_case(19));
  cases.push_back(gather_and_cap_case(50));
  return cases;
}

}  // namespace lockstep::device::contract
