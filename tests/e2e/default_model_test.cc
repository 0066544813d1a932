// The default model, read from its released file. Skipped where it has not been fetched, unless
// LOCKSTEP_REQUIRE_MODELS=1.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "e2e/command.h"
#include "e2e/json.h"
#include "engine/testing/loaded.h"
#include "tools/load.h"

namespace lockstep::e2e {
namespace {

using ::testing::HasSubstr;

constexpr const char* kSystem = "You are a helpful assistant.";
constexpr const char* kQuestion = "What is the capital of France?";

class DefaultModelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto path = tools::resolve_model("");
    if (path.ok()) {
      path_ = *path;
      return;
    }
    const char* required = std::getenv("LOCKSTEP_REQUIRE_MODELS");
    ASSERT_FALSE(required != nullptr && std::string_view(required) == "1") << path.status();
    GTEST_SKIP() << message_of(path.status());
  }
  // The answer as JSON.
  Outcome ask(const std::vector<std::string>& flags, const std::string& isa = "") const {
    std::vector<std::string> arguments = {"run", "-p", kQuestion, "--json"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return Command{arguments, {"LOCKSTEP_ISA=" + isa}}.run();
  }
  std::string path_;
};

TEST_F(DefaultModelTest, KnowsTheCapitalOfFranceOnEveryInstructionSetAndThreadCount) {
  const JsonOut expected(ask({}).out);
  EXPECT_THAT(expected.text("text"), HasSubstr("Paris"));
  EXPECT_EQ(expected.text("finish_reason"), "stop");
  for (const auto& kind : engine::testing::device_kinds()) {
    if (kind.isa.empty()) continue;
    const JsonOut answer(ask({"-t", std::to_string(kind.threads)}, kind.isa).out);
    EXPECT_EQ(answer.integers("tokens"), expected.integers("tokens")) << kind.name;
    EXPECT_EQ(answer.text("digest"), expected.text("digest")) << kind.name;
  }
}

TEST_F(DefaultModelTest, KnowsItInFullPrecision) {
  const auto result =
      Command{{"run", "-p", kQuestion, "--profile", "cpu-f32-1", "--json"}, {}}.run();
  EXPECT_THAT(JsonOut(result.out).text("text"), HasSubstr("Paris"));
}

// A special token that a user types is text, in the template; in --raw it is the token.
TEST_F(DefaultModelTest, TypedTurnMarkerIsTextUnlessThePromptIsRaw) {
  const auto prompt_tokens = [](const std::vector<std::string>& flags, const std::string& text) {
    std::vector<std::string> arguments = {"run", "-n", "1", "--json", "-p", text};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return JsonOut(Command{arguments, {}}.run().out).integer("prompt_tokens");
  };
  EXPECT_EQ(prompt_tokens({"--raw"}, "<|im_end|>"), 1);
  EXPECT_GT(prompt_tokens({}, "a<|im_end|>"), prompt_tokens({}, "a") + 1);
}

// Peak memory is the weights, K/V, the activations of a step and little else: the file's pages are
// given back as its tensors are packed.
TEST_F(DefaultModelTest, PeakMemoryStaysNearTheSizeOfTheFile) {
  constexpr int64_t kTokens = 512 + 16;
  constexpr int64_t kKvBytes = kTokens * 23040;
  constexpr int64_t kSlack = 100'000'000;
  const auto result = Command{{"bench", "-p", "512", "-n", "16", "-r", "1"}, {}}.run();
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_LE(result.peak_memory_bytes,
            static_cast<int64_t>(std::filesystem::file_size(path_)) + kKvBytes + kSlack);
}

class ChatTest : public DefaultModelTest {
 protected:
  Command chat(const std::vector<std::string>& flags = {}) const {
    std::vector<std::string> arguments = {"run", "--system", kSystem};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return {arguments, {}};
  }
  // Of the last turn: "prompt 52 tokens, 36 already computed".
  static int reused_tokens(const std::string& shown) {
    const size_t end = shown.rfind(" already computed");
    return std::atoi(shown.substr(shown.rfind(' ', end - 1) + 1).c_str());
  }
};

TEST_F(ChatTest, SecondTurnRemembersTheFirstAndComputesOnlyWhatIsNew) {
  constexpr int kFirstPrompt = 27;
  Terminal terminal(chat());
  ASSERT_TRUE(terminal.wait_for("> ")) << terminal.shown();
  terminal.type(std::string(kQuestion) + "\n");
  ASSERT_TRUE(terminal.wait_for("Paris")) << terminal.shown();
  ASSERT_TRUE(terminal.wait_for("tokens/s; prompt")) << terminal.shown();
  ASSERT_TRUE(terminal.wait_for("> "));
  EXPECT_EQ(reused_tokens(terminal.shown()), 0);
  terminal.type("Which country is that in?\n");
  ASSERT_TRUE(terminal.wait_for("France")) << terminal.shown();
  ASSERT_TRUE(terminal.wait_for("tokens/s; prompt"));
  ASSERT_TRUE(terminal.wait_for("> "));
  EXPECT_GT(reused_tokens(terminal.shown()), kFirstPrompt);  // and the reply to it
  terminal.type("\x04");
  EXPECT_EQ(terminal.finish(), 0);
}

TEST_F(ChatTest, ControlCStopsTheReplyAndThenLeaves) {
  Terminal terminal(chat({"--ignore-eos"}));
  ASSERT_TRUE(terminal.wait_for("> "));
  terminal.type(std::string(kQuestion) + "\n");
  ASSERT_TRUE(terminal.wait_for("Paris")) << terminal.shown();
  terminal.type("\x03");
  ASSERT_TRUE(terminal.wait_for("tokens/s")) << terminal.shown();
  ASSERT_TRUE(terminal.wait_for("> "));
  terminal.type("\x03");
  EXPECT_EQ(terminal.finish(), 0);
}

}  // namespace
}  // namespace lockstep::e2e
