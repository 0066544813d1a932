#include "verify/matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/testing/row_count_device.h"
#include "engine/testing/golden.h"
#include "engine/testing/loaded.h"

namespace lockstep::verify {
namespace {

using engine::testing::Loaded;

// An empty isa: the best.
std::unique_ptr<device::Device> cpu(const std::string& isa, int threads) {
  const std::string best = engine::testing::device_kinds().back().isa;
  return engine::testing::make({.name = "cpu", .isa = isa.empty() ? best : isa, .threads = threads},
                               engine::testing::profile_of(Arithmetic::kBF16));
}

std::vector<Path> paths_of(const std::string& golden, std::unique_ptr<device::Device> device) {
  Loaded loaded = engine::testing::load(engine::testing::golden_path(golden), std::move(device));
  const Elsewhere elsewhere = [&](const std::string& isa, int threads, const auto& use) {
    Loaded other = engine::testing::load(engine::testing::golden_path(golden), cpu(isa, threads));
    return use({*other.device, *other.model});
  };
  const Options options{.quick = true, .text = {}, .isas = {"scalar"}, .threads = 2};
  std::vector<Path> paths;
  const Status status = run_matrix({*loaded.device, *loaded.model}, elsewhere, options,
                                   [&](const Path& path) { paths.push_back(path); });
  EXPECT_TRUE(status.ok()) << message_of(status);
  return paths;
}

class MatrixTest : public ::testing::TestWithParam<const char*> {};

TEST_P(MatrixTest, EveryPathGivesTheSameBytes) {
  const std::vector<Path> paths = paths_of(GetParam(), cpu("", 2));
  EXPECT_GE(paths.size(), 13u);
  for (const Path& path : paths) EXPECT_TRUE(path.passed()) << path.name;
}

INSTANTIATE_TEST_SUITE_P(Families, MatrixTest,
                         ::testing::Values("llama", "llama_wide", "mistral", "qwen2", "qwen3",
                                           "qwen3_yarn", "gemma2", "gemma3"));

TEST(MatrixControl, DeviceWhoseBitsFollowTheRowCountFails) {
  const auto inner = cpu("", 1);
  const std::vector<Path> paths =
      paths_of("llama", std::make_unique<device::contract::RowCountDevice>(*inner));
  EXPECT_TRUE(std::ranges::any_of(paths, [](const Path& path) { return !path.passed(); }));
}

}  // namespace
}  // namespace lockstep::verify
