// Whole models: the logits of a position are the same bits for every chunk size, thread count,
// instruction set and history. The control at the end must be caught by the same comparison.
#include <gtest/gtest.h>

#include "device/reference/reference_device.h"
#include "device/testing/row_count_device.h"
#include "engine/testing/loaded.h"

namespace lockstep::engine {
namespace {

using testing::DeviceKind;
using testing::Loaded;

constexpr int kPromptTokens = 70;  // three pages, more than a chunk of 64 rows

std::vector<int64_t> made_ids(int count, int vocab, int salt) {
  std::vector<int64_t> ids;
  ids.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) ids.push_back((i * 31 + salt * 17 + 5) % vocab);
  return ids;
}

struct Case {
  std::string family;
  Arithmetic arithmetic;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.family; }

std::string case_name(const ::testing::TestParamInfo<Case>& tested) {
  return tested.param.family + (tested.param.arithmetic == Arithmetic::kF32 ? "_f32" : "_bf16");
}

// The control owns the device that it spoils.
struct OwnedReference {
  std::unique_ptr<device::Device> device;
};
class Control final : OwnedReference, public device::contract::RowCountDevice {
 public:
  explicit Control(const Profile& profile)
      : OwnedReference{device::make_reference_device(profile)}, RowCountDevice(*device) {}
};

class InvarianceTest : public ::testing::TestWithParam<Case> {
 protected:
  std::string path() const { return "tests/goldens/" + GetParam().family; }
  Profile profile() const { return testing::profile_of(GetParam().arithmetic); }
  Loaded load(const DeviceKind& kind, int chunk_rows) const {
    return testing::load(path(), testing::make(kind, profile()), chunk_rows);
  }
  std::vector<float> logits(const DeviceKind& kind, int chunk_rows) const {
    return load(kind, chunk_rows).score(ids_);
  }
  const std::vector<DeviceKind> kinds_ = testing::device_kinds();
  const DeviceKind best_ = kinds_[kinds_.size() - 2];
  const std::vector<int64_t> ids_ = made_ids(kPromptTokens, 384, 0);
};

TEST_P(InvarianceTest, ChunkSizesGiveTheSameBits) {
  const auto whole = logits(best_, 0);
  for (const int chunk : {1, 7, 31, 32, 33}) {
    EXPECT_TRUE(testing::same_bits(logits(best_, chunk), whole)) << "chunks of " << chunk;
  }
}

TEST_P(InvarianceTest, InstructionSetsThreadsAndTheReferenceGiveTheSameBits) {
  const auto expected = logits(best_, 0);
  for (const DeviceKind& kind : kinds_) {
    EXPECT_TRUE(testing::same_bits(logits(kind, 0), expected)) << kind.name;
  }
}

TEST_P(InvarianceTest, ReplyIsTheSameWhateverWasComputedBefore) {
  Loaded loaded = load(best_, 0);
  const auto prompt = made_ids(40, 384, 1);
  const auto fresh = loaded.continue_greedily(prompt, 24);
  auto longer = prompt;
  for (const int32_t id : fresh) longer.push_back(id);
  EXPECT_EQ(loaded.continue_greedily(prompt, 24), fresh);  // all of the prompt is there already
  loaded.continue_greedily(made_ids(50, 384, 2), 8);       // something else over the same pages
  EXPECT_EQ(loaded.continue_greedily(prompt, 24), fresh);
  const auto next = loaded.continue_greedily(longer, 8);
  Loaded cold = load(best_, 7);
  EXPECT_EQ(cold.continue_greedily(longer, 8), next);
}

// The negative control: a device whose reductions follow the row count.
TEST_P(InvarianceTest, DeviceThatReducesByRowCountIsCaught) {
  const auto control = [&](int chunk) {
    return testing::load(path(), std::make_unique<Control>(profile()), chunk).score(ids_);
  };
  EXPECT_FALSE(testing::same_bits(control(1), control(32)));
}

INSTANTIATE_TEST_SUITE_P(
    All, InvarianceTest,
    ::testing::Values(Case{"llama", Arithmetic::kF32}, Case{"llama", Arithmetic::kBF16},
                      Case{"llama_wide", Arithmetic::kBF16}, Case{"mistral", Arithmetic::kF32},
                      Case{"mistral", Arithmetic::kBF16}, Case{"qwen2", Arithmetic::kBF16},
                      Case{"qwen3", Arithmetic::kBF16}, Case{"qwen3_yarn", Arithmetic::kF32},
                      Case{"gemma2", Arithmetic::kF32}, Case{"gemma2", Arithmetic::kBF16},
                      Case{"gemma3", Arithmetic::kF32}, Case{"gemma3", Arithmetic::kBF16}),
    case_name);

}  // namespace
}  // namespace lockstep::engine
