#include "device/testing/row_contract.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/rng.h"
#include "device/testing/test_tensors.h"

namespace lockstep::device::contract {
namespace {

// Gives activations full mantissas under every profile: an embedding may hold bf16.
constexpr float kEmbedScale = 0.73105858f;

std::vector<int> iota(int count) {
  std::vector<int> v(count);
  std::iota(v.begin(), v.end(), 0);
  return v;
}

std::vector<int> shuffled(std::vector<int> v, CounterRng& rng) {
  for (size_t i = v.size(); i > 1; --i) {
    std::swap(v[i - 1], v[rng.below(static_cast<uint32_t>(i))]);
  }
  return v;
}

// Keeps the message of a failed step and goes on.
template <class T>
std::vector<T> value_or_note(StatusOr<std::vector<T>> result, Differences& out) {
  if (result.ok()) return *std::move(result);
  out.push_back(message_of(result.status()));
  return {};
}

std::vector<Row> rows_alone(RowRig& rig, Differences& out) {
  std::vector<Row> alone;
  for (int token = 0; token < kTokens; ++token) {
    const std::vector<Row> one = value_or_note(rig.run(std::vector{token}), out);
    alone.push_back(one.empty() ? Row() : one[0]);
  }
  return alone;
}

// One name a batch of tokens that must give the rows that its tokens give alone.
struct Batch {
  std::string name;
  std::vector<int> tokens;
};

std::vector<Batch> batches() {
  CounterRng rng(17);
  std::vector<Batch> all;
  for (int rows : {2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 128, 129, 256, 257, 512}) {
    all.push_back({fmt::format("{} rows", rows), iota(rows)});
  }
  all.push_back({"permuted", shuffled(iota(67), rng)});
  std::vector<int> repeated;
  for (int i = 0; i < 40; ++i) repeated.push_back(static_cast<int>(rng.below(5)));
  all.push_back({"repeated", repeated});
  std::vector<int> mixed = iota(30);
  for (int i = 0; i < 30; ++i) mixed.push_back(kOrdinaryTokens + i % (kTokens - kOrdinaryTokens));
  all.push_back({"hostile neighbours", shuffled(mixed, rng)});
  return all;
}

}  // namespace

bool same_bits(const Row& a, const Row& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

RowRig::RowRig(Device& device, const RowCase& op)
    : device_(device), rows_(op.rows), op_(op.prepare(device)) {
  CounterRng rng(3);
  const TestTensor table = activation_table(kTokens, op.in_width, kOrdinaryTokens, rng);
  const LinearWeight weight = {.weight = table.view(), .bias = {}};
  table_ = device.prepare({&weight, 1}).value();
  in_ = device.alloc(kTokens, op.in_width).value();
  gathered_ = device.alloc(kTokens, op.in_width).value();
  out_ = device.alloc(kTokens, op.out_width).value();
}

StatusOr<std::vector<Row>> RowRig::run(std::span<const int> tokens) {
  const auto count = static_cast<int>(tokens.size());
  std::vector<StepRow> rows;
  for (int i = 0; i < count; ++i) {
    rows.push_back({.sequence = i,
                    .position = 0,
                    .token = RowToken::of(SampledToken::from_logit_index(tokens[i]))});
  }
  const std::vector<StepSequence> sequences(count);
  std::vector<int32_t> logit_rows = iota(count);
  std::reverse(logit_rows.begin(), logit_rows.end());
  const StepView& step = device_.begin_step(
      {.rows = rows, .sequences = sequences, .logit_rows = logit_rows, .sampling = {}});
  device_.embed(step, *table_, kEmbedScale, *in_);
  device_.gather_logit_rows(step, *in_, *gathered_);
  op_(step, rows_ == RowSet::kAll ? *in_ : *gathered_, *out_);
  LOCKSTEP_RETURN_IF_ERROR(device_.end_step());

  std::vector<Row> result(count, Row(out_->width()));
  for (int i = 0; i < count; ++i) {
    device_.read(*out_, i, result[rows_ == RowSet::kAll ? i : logit_rows[i]]);
  }
  return result;
}

Differences row_differences(Device& device, const RowCase& op) {
  Differences out;
  RowRig rig(device, op);
  const std::vector<Row> alone = rows_alone(rig, out);
  for (const Batch& batch : batches()) {
    const std::vector<Row> together = value_or_note(rig.run(batch.tokens), out);
    for (size_t r = 0; r < together.size(); ++r) {
      if (same_bits(together[r], alone[batch.tokens[r]])) continue;
      out.push_back(fmt::format("{}, {}: row {} (token {}) is not what it is alone", op.name,
                                batch.name, r, batch.tokens[r]));
      break;
    }
  }
  return out;
}

Differences step_errors(Device& device, const RowCase& op) {
  Differences out;
  RowRig rig(device, op);
  CounterRng rng(23);
  const std::vector<int> all = shuffled(iota(kTokens), rng);
  for (size_t rows : {1, 2, 5, 19, 70}) {
    value_or_note(rig.run(std::span(all).first(rows)), out);
  }
  const int hostile[] = {512, 513, 514, 515, 516, 517};
  value_or_note(rig.run(hostile), out);
  return out;
}

}  // namespace lockstep::device::contract
