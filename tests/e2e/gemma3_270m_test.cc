// The second real model: Gemma 3 270M in Q4_K_M, whose tensors are Q4_K, Q5_0, Q6_K and Q8_0. make
// soak fetches it (scripts/fetch_model.sh gemma3-270m); skipped where it is not in the store.
#include <gtest/gtest.h>

#include "e2e/command.h"
#include "e2e/json.h"
#include "engine/testing/loaded.h"
#include "tools/load.h"

namespace lockstep::e2e {
namespace {

class Gemma3Test : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto path = tools::resolve_model("gemma3-270m");
    if (!path.ok()) GTEST_SKIP() << message_of(path.status());
  }
  // The base model continues text; it has no chat template.
  JsonOut continuation(const std::string& isa, int threads) const {
    return JsonOut(Command{{"run", "-m", "gemma3-270m", "--raw", "-p", "One, two, three, four,",
                            "-n", "12", "-t", std::to_string(threads), "--json"},
                           {"LOCKSTEP_ISA=" + isa}}
                       .run()
                       .out);
  }
};

TEST_F(Gemma3Test, CountsOnWithTheSameBytesOnEveryInstructionSetAndThreadCount) {
  for (const auto& kind : engine::testing::device_kinds()) {
    if (kind.isa.empty()) continue;
    const JsonOut answer = continuation(kind.isa, kind.threads);
    EXPECT_EQ(answer.text("text"), " five, six, seven, eight, nine, ten,") << kind.name;
    EXPECT_EQ(answer.text("digest"), "543660806294f17aab75f9d56914ddd1") << kind.name;
  }
}

TEST_F(Gemma3Test, ChatWithoutATemplateIsRefused) {
  const auto result = Command{{"run", "-m", "gemma3-270m", "-p", "hello"}, {}}.run();
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_NE(result.err.find("this model has no chat template; use --raw"), std::string::npos)
      << result.err;
}

}  // namespace
}  // namespace lockstep::e2e
