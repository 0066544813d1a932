#include "device/testing/attention_contract.h"

#include <algorithm>

#include "base/rng.h"

namespace lockstep::device::contract {
namespace {

constexpr int kLength = 300;  // into the second chunk of 256
constexpr int kPages = 24;
constexpr int kPagesASequence = 10;
static_assert(kPagesASequence * kPagePositions >= kLength);

std::vector<int> random_tokens(int count, uint64_t seed) {
  CounterRng rng(seed);
  std::vector<int> tokens;
  for (int i = 0; i < count; ++i) tokens.push_back(static_cast<int>(rng.below(kOrdinaryTokens)));
  return tokens;
}

std::vector<int> hostile_tokens(int count) {
  std::vector<int> tokens;
  for (int i = 0; i < count; ++i) {
    tokens.push_back(kOrdinaryTokens + i % (kTokens - kOrdinaryTokens));
  }
  return tokens;
}

// `count` pages, from `first` on in steps of `stride` around the pool.
std::vector<PageId> some_pages(int count, int first, int stride) {
  std::vector<PageId> pages;
  for (int i = 0; i < count; ++i) pages.push_back({(first + i * stride) % kPages});
  return pages;
}

void note(const Status& status, Differences& out) {
  if (!status.ok()) out.push_back(message_of(status));
}

class Checks {
 public:
  Checks(Device& device, const AttentionCase& attention)
      : device_(device), case_(attention), tokens_(random_tokens(kLength, 41)) {
    SequenceRig rig(device_, case_, kPages);
    const int whole = rig.add(tokens_, some_pages(kPagesASequence, 0, 1));
    note(rig.finish(whole, kLength), differences_);
    expected_ = rig.rows(whole);
  }

  void in_chunks_of(int positions) {
    SequenceRig rig(device_, case_, kPages);
    const int sequence = rig.add(tokens_, some_pages(kPagesASequence, 0, 1));
    note(rig.finish(sequence, positions), differences_);
    compare(fmt::format("in chunks of {}", positions), rig.rows(sequence), kLength);
  }

  // Steps that carry a part of each of three sequences, whose pages are scattered.
  void among_others() {
    SequenceRig rig(device_, case_, kPages);
    const int before = rig.add(hostile_tokens(90), some_pages(3, 21, 1));
    const int sequence = rig.add(tokens_, some_pages(kPagesASequence, 20, 23));
    const int after = rig.add(random_tokens(200, 43), some_pages(7, 1, 1));
    CounterRng rng(47);
    while (rig.remaining(sequence) > 0) {
      std::vector<SequenceRig::Part> parts;
      for (int s : {before, sequence, after}) {
        const int positions = std::min(rig.remaining(s), static_cast<int>(rng.below(70)));
        if (positions > 0) parts.push_back({s, positions});
      }
      if (rng.below(2) == 0) std::reverse(parts.begin(), parts.end());
      note(rig.step(parts), differences_);
    }
    compare("among others", rig.rows(sequence), kLength);
  }

  // Every slot of every page held NaN or infinity before, and the last page still does past the
  // sequence's end.
  void on_pages_of_hostile_tokens() {
    SequenceRig rig(device_, case_, kPages);
    for (int first : {0, 12}) {
      const int hostile = rig.add(hostile_tokens(12 * kPagePositions), some_pages(12, first, 1));
      note(rig.finish(hostile, 128), differences_);
    }
    const int sequence = rig.add(tokens_, some_pages(kPagesASequence, 3, 5));
    note(rig.finish(sequence, 97), differences_);
    compare("on pages that held NaN", rig.rows(sequence), kLength);
  }

  // What follows in the same step is not seen.
  void before_hostile_tokens() {
    const int prefix = 137;
    std::vector<int> tokens(tokens_.begin(), tokens_.begin() + prefix);
    const std::vector<int> hostile = hostile_tokens(kLength - prefix);
    tokens.insert(tokens.end(), hostile.begin(), hostile.end());
    SequenceRig rig(device_, case_, kPages);
    const int sequence = rig.add(tokens, some_pages(kPagesASequence, 0, 1));
    note(rig.finish(sequence, kLength), differences_);
    compare("before hostile tokens", rig.rows(sequence), prefix);
  }

  const Differences& differences() const { return differences_; }

 private:
  void compare(const std::string& what, const std::vector<Row>& rows, int positions) {
    for (int p = 0; p < positions; ++p) {
      if (p < static_cast<int>(rows.size()) && same_bits(rows[p], expected_[p])) continue;
      differences_.push_back(
          fmt::format("{}, {}: position {} is not what it is in one step", case_.name, what, p));
      return;
    }
  }

  Device& device_;
  const AttentionCase& case_;
  std::vector<int> tokens_;
  std::vector<Row> expected_;
  Differences differences_;
};

RopeSpec rope(RopeStyle style, int pairs, float magnitude) {
  RopeSpec spec = {.style = style, .inverse_frequencies = {}, .magnitude = magnitude};
  float frequency = 1.0f;
  for (int i = 0; i < pairs; ++i) {
    spec.inverse_frequencies.push_back(frequency);
    frequency *= 0.71f;
  }
  return spec;
}

struct Heads {
  int heads;
  int kv_heads;
  int k_size;
  int v_size;
};

AttentionCase make_case(std::string name, Heads h, int window, float soft_cap,
                        std::optional<RopeSpec> rope) {
  return {.name = std::move(name),
          .group = {.kind = window > 0 ? StateKind::kWindow : StateKind::kFull,
                    .window = window,
                    .layers = 2,
                    .kv_heads = h.kv_heads,
                    .k_head_size = h.k_size,
                    .v_head_size = h.v_size},
          .spec = {.heads = h.heads, .scale = 0.17f, .soft_cap = soft_cap},
          .rope = std::move(rope)};
}

}  // namespace

std::vector<AttentionCase> attention_cases(CaseSize size) {
  std::vector<AttentionCase> cases = {
      make_case("smallest", {1, 1, 2, 1}, 0, 0.0f, std::nullopt),
      make_case("grouped", {6, 2, 6, 10}, 0, 0.0f, rope(RopeStyle::kHalf, 3, 1.0f)),
      make_case("window and cap", {3, 1, 22, 7}, 40, 2.5f, rope(RopeStyle::kInterleaved, 8, 1.19f)),
  };
  if (size == CaseSize::kLarge) {
    cases.push_back(
        make_case("of 64", {9, 3, 64, 64}, 0, 0.0f, rope(RopeStyle::kInterleaved, 32, 1.0f)));
    cases.push_back(make_case("of 80 with a window", {4, 4, 80, 80}, 257, 0.0f,
                              rope(RopeStyle::kHalf, 20, 1.0f)));
    cases.push_back(make_case("of 256, one K/V head", {4, 1, 256, 256}, 0, 50.0f,
                              rope(RopeStyle::kHalf, 128, 1.0f)));
  }
  return cases;
}

Differences attention_differences(Device& device, const AttentionCase& attention) {
  Checks checks(device, attention);
  for (int positions : {1, 7, kPagePositions - 1, kPagePositions, kPagePositions + 1, 256}) {
    checks.in_chunks_of(positions);
  }
  checks.among_others();
  checks.on_pages_of_hostile_tokens();
  checks.before_hostile_tokens();
  return checks.differences();
}

Differences attention_step_errors(Device& device, const AttentionCase& attention) {
  Checks checks(device, attention);
  checks.in_chunks_of(37);
  checks.among_others();
  checks.before_hostile_tokens();
  return checks.differences();
}

}  // namespace lockstep::device::contract
