// Whole models with many sequences in a step: neighbours, their order and the places of pages are
// drawn at random, and every sequence gets the logits that it gets alone.
#include <gtest/gtest.h>

#include "base/rng.h"
#include "device/reference/reference_device.h"
#include "device/testing/row_count_device.h"
#include "engine/testing/golden.h"
#include "engine/testing/loaded.h"

namespace lockstep::engine {
namespace {

using testing::Loaded;

constexpr int kPagesASequence = 3;

template <class T>
void shuffle(std::vector<T>& values, CounterRng& rng) {
  for (size_t i = values.size(); i > 1; --i) {
    std::swap(values[i - 1], values[rng.below(static_cast<uint32_t>(i))]);
  }
}

// Sequences that take turns over one pool; every step has a random part of some of them.
class Batch {
 public:
  Batch(Loaded& loaded, const std::vector<std::vector<int64_t>>& prompts, uint64_t seed)
      : loaded_(loaded), rng_(seed), row_(static_cast<size_t>(loaded.model->vocabulary().size())) {
    std::vector<PageId> pages(prompts.size() * kPagesASequence);
    for (size_t i = 0; i < pages.size(); ++i) pages[i].value = static_cast<int32_t>(i);
    shuffle(pages, rng_);
    const size_t groups = loaded.model->state_layout().groups.size();
    const std::vector<int> counts(groups, static_cast<int>(pages.size()));
    pool_ = loaded.device->alloc_pages(loaded.model->state_layout(), counts).value();
    for (size_t i = 0; i < prompts.size(); ++i) {
      const auto first = pages.begin() + static_cast<ptrdiff_t>(i * kPagesASequence);
      sequences_.push_back({.tokens = loaded.model->vocabulary().admit_all(prompts[i]).value(),
                            .pages = {first, first + kPagesASequence},
                            .computed = 0,
                            .logits = {}});
    }
  }

  // Of every position, one list a sequence.
  std::vector<std::vector<float>> logits() {
    while (step()) {
    }
    std::vector<std::vector<float>> out;
    out.reserve(sequences_.size());
    for (const Sequence& s : sequences_) out.push_back(s.logits);
    return out;
  }

 private:
  struct Sequence {
    std::vector<TokenId> tokens;
    std::vector<PageId> pages;
    size_t computed = 0;
    std::vector<float> logits;
    size_t left() const { return tokens.size() - computed; }
  };

  // False when nothing is left to compute.
  bool step() {
    std::vector<Sequence*> order;
    for (Sequence& s : sequences_) {
      if (s.left() > 0) order.push_back(&s);
    }
    if (order.empty()) return false;
    shuffle(order, rng_);

    std::vector<device::StepRow> rows;
    std::vector<device::StepSequence> tables;
    std::vector<int32_t> logit_rows;
    std::vector<Sequence*> owners;  // of each row
    auto room = static_cast<size_t>(loaded_.model->options().max_rows);
    for (Sequence* s : order) {
      const size_t count = std::min({size_t{1} + rng_.below(20), s->left(), room});
      for (size_t i = 0; i < count; ++i, ++s->computed) {
        logit_rows.push_back(static_cast<int32_t>(rows.size()));
        rows.push_back({.sequence = static_cast<int32_t>(tables.size()),
                        .position = static_cast<int32_t>(s->computed),
                        .token = device::RowToken::of(s->tokens[s->computed])});
        owners.push_back(s);
      }
      tables.push_back({{pool_->layout().groups.size(), s->pages}});
      room -= count;
    }
    const auto& view = loaded_.device->begin_step(
        {.rows = rows, .sequences = tables, .logit_rows = logit_rows, .sampling = {}});
    loaded_.model->forward(view, *pool_);
    EXPECT_TRUE(loaded_.device->end_step().ok());
    for (size_t i = 0; i < owners.size(); ++i) {
      loaded_.device->read(loaded_.model->logits(), static_cast<int>(i), row_);
      owners[i]->logits.insert(owners[i]->logits.end(), row_.begin(), row_.end());
    }
    return true;
  }

  Loaded& loaded_;
  CounterRng rng_;
  std::unique_ptr<device::PagePool> pool_;
  std::vector<Sequence> sequences_;
  std::vector<float> row_;
};

struct Case {
  std::string family;
  Arithmetic arithmetic;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.family; }

class BatchTest : public ::testing::TestWithParam<Case> {
 protected:
  BatchTest() {
    for (const int length : {70, 1, 33, 96, 50, 2, 64, 17}) {
      auto& ids = prompts_.emplace_back();
      for (int i = 0; i < length; ++i) ids.push_back((i * 31 + length * 17) % 384);
    }
  }
  Loaded load(std::unique_ptr<device::Device> device) const {
    return testing::load(testing::golden_path(GetParam().family), std::move(device));
  }
  // Whether each sequence gets in each of three batches what it gets alone.
  bool same_in_company(Loaded loaded) const {
    std::vector<std::vector<float>> alone;
    alone.reserve(prompts_.size());
    for (const auto& ids : prompts_) alone.push_back(loaded.score(ids));
    for (const uint64_t seed : {1, 2, 3}) {
      const auto together = Batch(loaded, prompts_, seed).logits();
      for (size_t i = 0; i < alone.size(); ++i) {
        if (!testing::same_bits(together[i], alone[i])) return false;
      }
    }
    return true;
  }
  const Profile profile_ = testing::profile_of(GetParam().arithmetic);
  std::vector<std::vector<int64_t>> prompts_;
};

TEST_P(BatchTest, SequencesGetTheLogitsThatTheyGetAlone) {
  EXPECT_TRUE(same_in_company(load(testing::make(testing::device_kinds().back(), profile_))));
}

// The negative control.
TEST_P(BatchTest, DeviceThatReducesByRowCountIsCaught) {
  const auto correct = device::make_reference_device(profile_);
  EXPECT_FALSE(same_in_company(load(std::make_unique<device::contract::RowCountDevice>(*correct))));
}

INSTANTIATE_TEST_SUITE_P(
    All, BatchTest,
    ::testing::Values(Case{"llama", Arithmetic::kF32}, Case{"llama", Arithmetic::kBF16},
                      Case{"mistral", Arithmetic::kBF16}, Case{"qwen2", Arithmetic::kBF16},
                      Case{"qwen3", Arithmetic::kBF16}, Case{"qwen3_yarn", Arithmetic::kF32},
                      Case{"gemma2", Arithmetic::kBF16}, Case{"gemma3", Arithmetic::kF32},
                      Case{"gemma3", Arithmetic::kBF16}),
    [](const auto& tested) {
      return tested.param.family + (tested.param.arithmetic == Arithmetic::kF32 ? "_f32" : "_bf16");
    });

}  // namespace
}  // namespace lockstep::engine
