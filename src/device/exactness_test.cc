// The device contract on every device, and the CPU device against the executable definition.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/rng.h"
#include "device/check/check_device.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/isa.h"
#include "device/reference/reference_device.h"
#include "device/testing/attention_contract.h"
#include "device/testing/row_contract.h"
#include "device/testing/row_count_device.h"
#include "device/testing/test_tensors.h"

namespace lockstep::device {
namespace {

using contract::AttentionCase;
using contract::CaseSize;
using contract::RowCase;
using testing::IsEmpty;
using testing::Not;

constexpr Arithmetic kArithmetics[] = {Arithmetic::kF32, Arithmetic::kBF16, Arithmetic::kInt8};
constexpr KvType kKvTypes[] = {KvType::kF32, KvType::kF16, KvType::kBF16};

// A device under test, by its instruction set; "reference" is the definition.
struct Subject {
  std::string isa;
  int threads;

  std::unique_ptr<Device> make(Profile profile) const {
    if (isa == "reference") return make_reference_device(profile);
    return make_cpu_device({.profile = profile, .threads = threads, .isa = isa}).value();
  }
  // What it can do in a moment.
  CaseSize size() const {
    return isa == "reference" || isa == "scalar" ? CaseSize::kSmall : CaseSize::kLarge;
  }
  friend void PrintTo(const Subject& s, std::ostream* out) { *out << s.isa; }
};

std::vector<Subject> cpu_subjects() {
  std::vector<Subject> subjects;
  for (const cpu::Kernels* kernels : cpu::runnable_kernels()) {
    subjects.push_back({.isa = kernels->isa, .threads = 2});
  }
  return subjects;
}

std::vector<Subject> all_subjects() {
  std::vector<Subject> subjects = cpu_subjects();
  subjects.push_back({.isa = "reference", .threads = 1});
  return subjects;
}

template <class Info>
std::string subject_name(const Info& info) {
  return std::get<0>(info.param).isa + "_" + std::to_string(info.index);
}

Profile profile_of(Arithmetic arithmetic) {
  return {.arithmetic = arithmetic, .kv = Profile::default_kv(arithmetic)};
}
Profile profile_of(KvType kv) { return {.arithmetic = Arithmetic::kF32, .kv = kv}; }

// ---- A row does not see the others

class RowContract : public testing::TestWithParam<std::tuple<Subject, Arithmetic>> {};

TEST_P(RowContract, ARowIsWhatItIsAlone) {
  const auto& [subject, arithmetic] = GetParam();
  for (const RowCase& op : contract::row_cases(arithmetic, subject.size())) {
    const auto device = subject.make(profile_of(arithmetic));
    EXPECT_THAT(contract::row_differences(*device, op), IsEmpty());
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, RowContract,
                         testing::Combine(testing::ValuesIn(all_subjects()),
                                          testing::ValuesIn(kArithmetics)),
                         subject_name<testing::TestParamInfo<RowContract::ParamType>>);

class AttentionContract : public testing::TestWithParam<std::tuple<Subject, KvType>> {};

TEST_P(AttentionContract, APositionIsAFunctionOfItsOwnPast) {
  const auto& [subject, kv] = GetParam();
  for (const AttentionCase& attention : contract::attention_cases(subject.size())) {
    const auto device = subject.make(profile_of(kv));
    EXPECT_THAT(contract::attention_differences(*device, attention), IsEmpty());
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, AttentionContract,
                         testing::Combine(testing::ValuesIn(all_subjects()),
                                          testing::ValuesIn(kKvTypes)),
                         subject_name<testing::TestParamInfo<AttentionContract::ParamType>>);

// ---- Every device gives the defined bits

// Devices that are compared with one another, all on the same calls.
class Together {
 public:
  Together(const std::vector<Subject>& subjects, Profile profile) {
    for (const Subject& subject : subjects) {
      devices_.push_back(subject.make(profile));
      Device& newest = *devices_.back();
      if (devices_.size() > 1) checks_.push_back(std::make_unique<CheckDevice>(device(), newest));
    }
  }
  // All of them as one, whose steps fail where two differ.
  Device& device() {
    if (checks_.empty()) return *devices_.front();
    return *checks_.back();
  }

 private:
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::unique_ptr<CheckDevice>> checks_;
};

// Every device, and the best instruction set with more threads than a small machine has.
std::vector<Subject> all_and_many_threads() {
  std::vector<Subject> subjects = all_subjects();
  subjects.push_back({.isa = cpu_subjects().back().isa, .threads = 5});
  return subjects;
}

class RowDefinition : public testing::TestWithParam<Arithmetic> {};

TEST_P(RowDefinition, HoldsOnEveryInstructionSet) {
  for (const RowCase& op : contract::row_cases(GetParam(), CaseSize::kLarge)) {
    Together all(all_and_many_threads(), profile_of(GetParam()));
    EXPECT_THAT(contract::step_errors(all.device(), op), IsEmpty()) << op.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, RowDefinition, testing::ValuesIn(kArithmetics));

class AttentionDefinition : public testing::TestWithParam<KvType> {};

TEST_P(AttentionDefinition, HoldsOnEveryInstructionSet) {
  Together all(all_and_many_threads(), profile_of(GetParam()));
  for (const AttentionCase& attention : contract::attention_cases(CaseSize::kSmall)) {
    EXPECT_THAT(contract::attention_step_errors(all.device(), attention), IsEmpty());
  }
}

// Large heads, without the devices that have no lanes.
TEST_P(AttentionDefinition, LanesAndThreadsAgreeOnLargeHeads) {
  std::vector<Subject> subjects = all_and_many_threads();
  std::erase_if(subjects, [](const Subject& s) { return s.size() == CaseSize::kSmall; });
  if (subjects.empty()) GTEST_SKIP() << "this CPU runs the scalar kernels alone";
  Together all(subjects, profile_of(GetParam()));
  for (const AttentionCase& attention : contract::attention_cases(CaseSize::kLarge)) {
    EXPECT_THAT(contract::attention_step_errors(all.device(), attention), IsEmpty());
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, AttentionDefinition, testing::ValuesIn(kKvTypes));

// ---- The checks themselves

TEST(NegativeControl, ASliceThatFollowsTheRowCountIsFound) {
  const auto reference = make_reference_device(profile_of(Arithmetic::kF32));
  contract::RowCountDevice device(*reference);
  int found = 0;
  for (const RowCase& op : contract::row_cases(Arithmetic::kF32, CaseSize::kSmall)) {
    if (!op.name.starts_with("linear F32") || op.in_width < 2) continue;
    EXPECT_THAT(contract::row_differences(device, op), Not(IsEmpty()));
    ++found;
  }
  EXPECT_GT(found, 0);
}

TEST(NegativeControl, AttentionThatFollowsTheRowCountIsFound) {
  const auto reference = make_reference_device(profile_of(KvType::kBF16));
  contract::RowCountDevice device(*reference);
  const AttentionCase attention = contract::attention_cases(CaseSize::kSmall)[1];
  EXPECT_THAT(contract::attention_differences(device, attention), Not(IsEmpty()));
}

TEST(NegativeControl, TwoDevicesThatDifferAreFoundByNameAndRow) {
  const auto reference = make_reference_device(profile_of(Arithmetic::kF32));
  const auto inner = make_reference_device(profile_of(Arithmetic::kF32));
  contract::RowCountDevice other(*inner);
  CheckDevice both(*reference, other);
  const std::vector<RowCase> cases = contract::row_cases(Arithmetic::kF32, CaseSize::kSmall);
  EXPECT_THAT(contract::step_errors(both, cases[0]),
              testing::Contains(testing::HasSubstr("linear: row 0 column ")));
}

// ---- Sampling and refusals

class EveryDevice : public testing::TestWithParam<Subject> {
 protected:
  std::unique_ptr<Device> device_ = GetParam().make(profile_of(Arithmetic::kF32));
};

TokenId token(int id) { return SampledToken::from_logit_index(id); }

TEST_P(EveryDevice, ASampledTokenFeedsTheNextStep) {
  CounterRng rng(61);
  const contract::TestTensor table = contract::random_tensor(DType::kF32, 7, 7, rng);
  const LinearWeight weight = {.weight = table.view(), .bias = {}};
  const auto plan = device_->prepare({&weight, 1}).value();
  const auto rows = device_->alloc(4, 7).value();
  const auto logits = device_->alloc(4, 7).value();
  const std::vector<StepSequence> sequences(3);
  const std::vector<RowSampling> sampling(
      2, {.params = SamplingParams::create({.temperature = 2.0, .seed = 5}).value(), .edits = {}});

  const std::vector<StepRow> first = {
      {.sequence = 0, .position = 3, .token = RowToken::of(token(4))},
      {.sequence = 1, .position = 0, .token = RowToken::of(token(1))},
      {.sequence = 2, .position = 9, .token = RowToken::of(token(6))}};
  const std::vector<int32_t> logit_rows = {2, 0};
  const StepView& step = device_->begin_step(
      {.rows = first, .sequences = sequences, .logit_rows = logit_rows, .sampling = sampling});
  device_->embed(step, *plan, 1.0f, *rows);
  device_->gather_logit_rows(step, *rows, *logits);
  device_->sample(step, *logits);
  ASSERT_TRUE(device_->end_step().ok());
  ASSERT_EQ(device_->sampled().size(), 2u);
  const std::vector<TokenId> sampled(device_->sampled().begin(), device_->sampled().end());

  const std::vector<StepRow> second = {
      {.sequence = 0, .position = 4, .token = RowToken::sampled_by(1)},
      {.sequence = 1, .position = 10, .token = RowToken::sampled_by(0)},
      {.sequence = 2, .position = 0, .token = RowToken::of(sampled[0])}};
  const StepView& next = device_->begin_step(
      {.rows = second, .sequences = sequences, .logit_rows = {}, .sampling = {}});
  device_->embed(next, *plan, 1.0f, *rows);
  ASSERT_TRUE(device_->end_step().ok());
  std::vector<contract::Row> out(3, contract::Row(7));
  for (int r = 0; r < 3; ++r) device_->read(*rows, r, out[r]);
  EXPECT_TRUE(contract::same_bits(out[1], out[2]));
  const auto* values = reinterpret_cast<const float*>(table.bytes.data());
  EXPECT_EQ(out[0],
            contract::Row(values + sampled[1].value() * 7, values + sampled[1].value() * 7 + 7));
}

TEST_P(EveryDevice, RefusesWhatItCannotMultiply) {
  CounterRng rng(67);
  const contract::TestTensor matrix = contract::random_tensor(DType::kF32, 3, 8, rng);
  const contract::TestTensor narrow = contract::random_tensor(DType::kF32, 3, 7, rng);
  const contract::TestTensor vector = contract::random_tensor(DType::kF32, 8, 0, rng);
  const auto refusal = [&](std::vector<LinearWeight> stacked) {
    return message_of(device_->prepare(stacked).status());
  };
  EXPECT_EQ(refusal({{matrix.view(), {}}}), "");
  EXPECT_THAT(refusal({}), testing::HasSubstr("at least one"));
  EXPECT_THAT(refusal({{vector.view(), {}}}), testing::HasSubstr("two dimensions"));
  EXPECT_THAT(refusal({{matrix.view(), vector.view()}}), testing::HasSubstr("bias of shape [8]"));
  EXPECT_THAT(refusal({{matrix.view(), {}}, {narrow.view(), {}}}),
              testing::HasSubstr("8 and 7 inputs"));
  TensorView integers = matrix.view();
  integers.dtype = DType::kI32;
  EXPECT_THAT(refusal({{integers, {}}}), testing::HasSubstr("type I32"));
  TensorView ragged = matrix.view();
  ragged.dtype = DType::kQ8_0;
  EXPECT_THAT(refusal({{ragged, {}}}), testing::HasSubstr("whole blocks of 32"));
}

INSTANTIATE_TEST_SUITE_P(Devices, EveryDevice, testing::ValuesIn(all_subjects()),
                         [](const auto& subject) { return subject.param.isa; });

}  // namespace
}  // namespace lockstep::device
