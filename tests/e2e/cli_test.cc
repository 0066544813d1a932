// The commands over a tiny checkpoint that has no tokenizer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/mapped_file.h"
#include "e2e/command.h"
#include "e2e/json.h"
#include "engine/testing/golden.h"
#include "engine/testing/loaded.h"
#include "formats/safetensors.h"
#include "formats/testing/folder.h"

namespace lockstep::e2e {
namespace {

using engine::testing::Golden;
using ::testing::ElementsAreArray;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kModel = "tests/goldens/llama";

class CliTest : public ::testing::Test {
 protected:
  Outcome lockstep(const std::vector<std::string>& arguments,
                   const std::vector<std::string>& environment = {}) const {
    Command command = {arguments, environment};
    command.environment.push_back("LOCKSTEP_MODELS=" + folder_.path());
    return command.run();
  }
  std::string file(std::string_view name, std::string_view contents) const {
    folder_.write(name, contents);
    return folder_.path(name);
  }
  // An --ids file of these lists.
  std::string ids_file(const std::vector<std::vector<int64_t>>& lists) const {
    std::string json;
    for (const auto& ids : lists) {
      json += json.empty() ? "[[" : ",[";
      for (size_t i = 0; i < ids.size(); ++i) {
        if (i > 0) json += ",";
        json += std::to_string(ids[i]);
      }
      json += "]";
    }
    return file("ids.json", json + "]");
  }
  std::string out_file() const { return folder_.path("out.safetensors"); }
  std::string out_bytes() const { return std::string(read_file(out_file(), 1 << 24).value()); }

  const formats::TestFolder folder_;
  const Golden golden_{"llama"};
};

TEST_F(CliTest, LogitsMeetTheGolden) {
  std::vector<std::vector<int64_t>> prompts;
  prompts.reserve(engine::testing::kGoldenPrompts);
  for (int i = 0; i < engine::testing::kGoldenPrompts; ++i) {
    prompts.push_back(golden_.ids("tokens_" + std::to_string(i)));
  }
  const auto result = lockstep({"logits", "-m", kModel, "--ids", ids_file(prompts), "--out",
                                out_file(), "--profile", "cpu-f32-1"});
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(result.out, "");
  const auto written = formats::SafetensorsModel::open_file(out_file());
  ASSERT_TRUE(written.ok()) << written.status();
  for (int i = 0; i < engine::testing::kGoldenPrompts; ++i) {
    const TensorView* view = written->tensors().find("logits_" + std::to_string(i));
    ASSERT_NE(view, nullptr);
    EXPECT_EQ(view->dtype, DType::kF32);
    EXPECT_EQ(view->shape,
              (Shape{static_cast<int64_t>(prompts[static_cast<size_t>(i)].size()), 384}));
    std::vector<float> values(view->bytes.size() / sizeof(float));
    std::memcpy(values.data(), view->bytes.data(), view->bytes.size());
    EXPECT_LE(
        engine::testing::largest_difference(values, golden_.floats("logits_" + std::to_string(i))),
        engine::testing::kF32Bound);
  }
}

TEST_F(CliTest, LogitsAreTheSameBytesOnEveryDeviceAndThreadCount) {
  const std::vector<std::string> command = {
      "logits", "-m", kModel, "--ids", ids_file({golden_.ids("tokens_3")}), "--out", out_file()};
  const auto bytes_with = [&](const std::vector<std::string>& flags, const std::string& isa) {
    auto arguments = command;
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const auto result = lockstep(arguments, {"LOCKSTEP_ISA=" + isa});
    EXPECT_EQ(result.exit_status, 0) << result.err;
    return out_bytes();
  };
  const std::string expected = bytes_with({"--device", "reference"}, "");
  for (const auto& kind : engine::testing::device_kinds()) {
    if (kind.isa.empty()) continue;
    EXPECT_EQ(bytes_with({"-t", std::to_string(kind.threads)}, kind.isa), expected) << kind.name;
  }
}

TEST_F(CliTest, RunOnIdsPrintsOneJsonObjectAndContinuesGreedily) {
  const auto prompt = ids_file({golden_.ids("greedy_prompt")});
  const auto result = lockstep({"run", "-m", kModel, "--ids", prompt, "-n", "24", "--ignore-eos",
                                "--profile", "cpu-f32-1", "--json"});
  ASSERT_EQ(result.exit_status, 0) << result.err;
  const JsonOut json(result.out);
  EXPECT_EQ(json.text("text"), "");
  EXPECT_THAT(json.integers("tokens"), ElementsAreArray(golden_.ids("greedy_tokens")));
  EXPECT_EQ(json.integer("prompt_tokens"), 8);
  EXPECT_THAT(json.text("digest"), MatchesRegex("[0-9a-f]+"));
  EXPECT_EQ(json.text("profile"), "cpu-f32-1");
  EXPECT_EQ(json.text("finish_reason"), "length");
  EXPECT_TRUE(json.has("timings"));
}

TEST_F(CliTest, StopIdEndsTheReplyAndIsPartOfIt) {
  const auto prompt = ids_file({golden_.ids("greedy_prompt")});
  const auto expected = golden_.ids("greedy_tokens");
  // The checkpoint again, with the third greedy token as its end of sequence.
  const formats::TestFolder changed;
  std::string config(read_file(std::string(kModel) + "/config.json", 1 << 20).value());
  const std::string_view eos = "\"eos_token_id\": 2";
  ASSERT_NE(config.find(eos), config.npos);
  config.replace(config.find(eos), eos.size(), "\"eos_token_id\": " + std::to_string(expected[2]));
  changed.write("config.json", config);
  std::filesystem::copy(std::string(kModel) + "/model.safetensors", changed.path());
  const std::vector<std::string> command = {"run", "-m", changed.path(), "--ids",     prompt,
                                            "-n",  "24", "--profile",    "cpu-f32-1", "--json"};
  const JsonOut stopped(lockstep(command).out);
  const auto tokens = stopped.integers("tokens");
  EXPECT_EQ(tokens, std::vector<int64_t>(expected.begin(), expected.begin() + 3));
  EXPECT_EQ(stopped.text("finish_reason"), "stop");

  auto going_on = command;
  going_on.push_back("--ignore-eos");
  EXPECT_EQ(JsonOut(lockstep(going_on).out).integers("tokens").size(), 24u);
}

TEST_F(CliTest, TokenizeNeedsTheTokenizersFilesAlone) {
  std::filesystem::copy("tests/data/text/llama3_like.json", folder_.path("tokenizer.json"));
  file("chat_template.jinja",
       "{% for m in messages %}<|turn|>{{ m.content }}<|turn_end|>{% endfor %}"
       "{% if add_generation_prompt %}<|turn|>{% endif %}");
  const std::vector<std::string> command = {"tokenize", "-m", folder_.path(), "--json"};
  const auto output = [&](const std::vector<std::string>& more) {
    auto arguments = command;
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto result = lockstep(arguments);
    EXPECT_EQ(result.exit_status, 0) << result.err;
    return result.out;
  };
  const std::string texts = file("texts.json", R"(["", "a<|turn|>", "\u0000"])");
  EXPECT_EQ(output({"--file", texts}),
            "[{\"ids\":[],\"decoded\":\"\"},\n"
            "{\"ids\":[64,601],\"decoded\":\"a<|turn|>\"},\n"
            "{\"ids\":[188],\"decoded\":\"\\u0000\"}]\n");
  EXPECT_EQ(output({"-p", "a", "--add-special"}),
            "[{\"ids\":[600,64],\"decoded\":\"<|begin|>a\"}]\n");
  EXPECT_THAT(output({"-p", "<|turn|>", "--plain"}), Not(HasSubstr("601")));

  // What a message spells stays text.
  const std::string messages = file("m.json", R"([{"role":"user","content":"a<|turn|>"}])");
  const std::string prompt = output({"--messages", messages});
  EXPECT_THAT(prompt, StartsWith("[{\"text\":\"<|turn|>a<|turn|><|turn_end|><|turn|>\",\"ids\":["
                                 "601,64,"));
  EXPECT_THAT(prompt, HasSubstr(",602,601],\"decoded\""));
  EXPECT_THAT(output({"--messages", messages, "--no-generation-prompt"}),
              HasSubstr(",602],\"decoded\""));
}

TEST_F(CliTest, DrawsFollowTheSeedAlone) {
  const auto prompt = ids_file({{5, 6, 7}});
  const auto tokens = [&](const std::string& seed, const std::string& threads) {
    return JsonOut(lockstep({"run", "-m", kModel, "--ids", prompt, "-n", "20", "--temp", "1.5",
                             "--top-p", "0.95", "--seed", seed, "-t", threads, "--json"})
                       .out)
        .integers("tokens");
  };
  EXPECT_EQ(tokens("7", "1"), tokens("7", "2"));
  EXPECT_NE(tokens("7", "1"), tokens("8", "1"));
}

TEST_F(CliTest, DrawnSeedIsPrintedAndGivesTheReplyAgain) {
  const auto prompt = ids_file({{5, 6, 7}});
  std::vector<std::string> command = {"run", "-m", kModel,   "--ids", prompt,
                                      "-n",  "20", "--temp", "1.5",   "--json"};
  const JsonOut first(lockstep(command).out);
  command.insert(command.end(), {"--seed", std::to_string(first.integer("seed"))});
  EXPECT_EQ(JsonOut(lockstep(command).out).integers("tokens"), first.integers("tokens"));
}

TEST_F(CliTest, BenchNeedsNoTokenizerAndItsDigestFollowsTheModelAlone) {
  const auto digest = [&](const std::string& threads) {
    const auto result = lockstep(
        {"bench", "-m", kModel, "-p", "40", "-n", "4", "-r", "2", "-t", threads, "-o", "json"});
    EXPECT_EQ(result.exit_status, 0) << result.err;
    return JsonOut(result.out).text("last_logits_digest");
  };
  EXPECT_EQ(digest("1"), digest("2"));
}

TEST_F(CliTest, InspectShowsTheGeometry) {
  const auto result = lockstep({"inspect", kModel, "--digest"});
  EXPECT_EQ(result.exit_status, 0);
  EXPECT_THAT(result.out, HasSubstr("4 query, 2 key/value, of 16"));
  EXPECT_THAT(result.out, HasSubstr("vocabulary    384"));
  EXPECT_THAT(result.out, HasSubstr("profile       cpu-bf16-1"));
  EXPECT_THAT(result.out, HasSubstr("digest        "));
}

TEST_F(CliTest, InspectShowsAFileOfTensorsAlone) {
  const auto result = lockstep({"inspect", std::string(kModel) + "/model.safetensors"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("39 tensors"));
}

TEST_F(CliTest, VerifyShowsThatEveryPathGivesTheSameBytes) {
  const auto result = lockstep({"verify", "-m", kModel, "--quick", "--json"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\"passed\":true"));
  EXPECT_THAT(result.out, HasSubstr("preempted and resumed"));
}

TEST_F(CliTest, VersionAndHelpSucceed) {
  EXPECT_THAT(lockstep({"--version"}).out, StartsWith("lockstep "));
  for (const char* command : {"run", "logits", "inspect", "bench", "tokenize", "verify"}) {
    const auto result = lockstep({command, "--help"});
    EXPECT_EQ(result.exit_status, 0);
    EXPECT_THAT(result.out, HasSubstr(std::string("Example: lockstep ") + command));
  }
}

// ---- What is refused: one line on standard error, nothing on standard output.

struct Refusal {
  std::string name;
  std::vector<std::string> arguments;  // "IDS:..." becomes a file of that contents
  int exit_status;
  std::string part;  // of the message
  std::string environment = {};
};
void PrintTo(const Refusal& r, std::ostream* out) { *out << r.name; }

class RefusalTest : public CliTest, public ::testing::WithParamInterface<Refusal> {};

TEST_P(RefusalTest, SaysWhyInOneLine) {
  std::vector<std::string> arguments = GetParam().arguments;
  for (std::string& argument : arguments) {
    if (argument.starts_with("IDS:")) argument = file("ids.json", argument.substr(4));
    if (argument == "OUT") argument = out_file();
  }
  std::vector<std::string> environment;
  if (!GetParam().environment.empty()) environment.push_back(GetParam().environment);
  const auto result = lockstep(arguments, environment);
  EXPECT_EQ(result.exit_status, GetParam().exit_status) << result.err;
  EXPECT_EQ(result.out, "");
  const auto lines = result.error_lines();
  ASSERT_FALSE(lines.empty());
  EXPECT_THAT(lines.back(), HasSubstr(GetParam().part));
  // A fault that shows only after loading comes behind the line that says what was loaded.
  for (size_t i = 0; i + 1 < lines.size(); ++i) {
    EXPECT_THAT(lines[i], HasSubstr(" | profile "));
  }
  EXPECT_EQ(lines.back().starts_with("error: "), GetParam().exit_status == 1);
}

const Refusal kRefusals[] = {
    {"no_command", {}, 2, "one of run, logits, inspect, bench, tokenize"},
    {"unknown_command", {"serv"}, 2, "one of run"},
    {"unknown_flag", {"run", "--tokens", "3"}, 2, "lockstep run --help"},
    {"no_threads", {"run", "-m", kModel, "-t", "0"}, 2, "range 1 to "},
    {"negative_threads", {"run", "-m", kModel, "-t", "-1"}, 2, "range 1 to "},
    {"huge_thread_count", {"bench", "-m", kModel, "-t", "1000000"}, 2, "range 1 to "},
    {"threads_past_64_bits", {"bench", "-m", kModel, "-t", "99999999999999999999"}, 2, "threads"},
    {"threads_that_are_no_number", {"bench", "-m", kModel, "-t", "two"}, 2, "threads"},
    {"no_tokens_to_generate",
     {"run", "-m", kModel, "--ids", "IDS:[[1]]", "-n", "0"},
     2,
     "range 1 to "},
    {"zero_repetitions", {"bench", "-m", kModel, "-r", "0"}, 2, "range 1 to "},
    {"unknown_output", {"bench", "-m", kModel, "-o", "xml"}, 2, "json"},
    {"logits_without_out", {"logits", "-m", kModel, "--ids", "IDS:[[1]]"}, 2, "--out"},
    {"default_model_missing", {"run", "-p", "hello"}, 1, "make model"},
    {"unknown_model", {"run", "-m", "nothing", "-p", "x"}, 1, "no model 'nothing'"},
    {"control_bytes_in_a_name", {"run", "-m", "a\x1b[2J\nb", "-p", "x"}, 1, "a\\x1b[2J\\x0ab"},
    {"model_folder_without_config", {"run", "-m", "tests/goldens", "-p", "x"}, 1, "config.json"},
    {"unknown_profile",
     {"run", "-m", kModel, "--ids", "IDS:[[1]]", "--profile", "cpu-f64-1"},
     1,
     "cpu-bf16-1"},
    {"unknown_kv_type", {"run", "-m", kModel, "--ids", "IDS:[[1]]", "--kv-type", "q8"}, 1, "bf16"},
    {"unknown_device", {"run", "-m", kModel, "--ids", "IDS:[[1]]", "--device", "tpu"}, 1, "cpu"},
    {"unknown_instruction_set",
     {"run", "-m", kModel, "--ids", "IDS:[[1]]"},
     1,
     "scalar",
     "LOCKSTEP_ISA=avx9"},
    {"text_without_a_tokenizer", {"run", "-m", kModel, "-p", "hello"}, 1, "--ids FILE.json"},
    {"prompt_and_ids", {"run", "-m", kModel, "-p", "x", "--ids", "IDS:[[1]]"}, 1, "--ids"},
    {"no_prompt_and_no_terminal", {"run", "-m", kModel}, 1, "-p TEXT"},
    {"json_without_a_prompt", {"run", "-m", kModel, "--json"}, 1, "-p TEXT"},
    {"two_prompts", {"run", "-m", kModel, "--ids", "IDS:[[1],[2]]"}, 1, "exactly one"},
    {"empty_prompt", {"run", "-m", kModel, "--ids", "IDS:[[]]"}, 1, "list 0 is empty"},
    {"id_past_the_vocabulary", {"run", "-m", kModel, "--ids", "IDS:[[384]]"}, 1, "[0, 383]"},
    {"negative_id", {"logits", "-m", kModel, "--ids", "IDS:[[-1]]", "--out", "OUT"}, 1, "[0, 383]"},
    {"ids_file_missing", {"run", "-m", kModel, "--ids", "/nowhere/ids.json"}, 1, "/nowhere"},
    {"reply_past_the_context",
     {"run", "-m", kModel, "--ids", "IDS:[[1,2]]", "-n", "511"},
     1,
     "513 positions; this model has 512"},
    {"bench_past_the_context", {"bench", "-m", kModel, "-p", "500", "-n", "13"}, 1, "[1, 512]"},
    {"out_in_no_folder",
     {"logits", "-m", kModel, "--ids", "IDS:[[1]]", "--out", "/nowhere/x"},
     1,
     "/nowhere"},
    {"tokenize_nothing", {"tokenize", "-m", kModel}, 1, "-p TEXT"},
    {"tokenize_without_a_tokenizer", {"tokenize", "-m", kModel, "-p", "x"}, 1, "tokenizer.json"},
    {"temperature_nan", {"run", "-m", kModel, "--ids", "IDS:[[1]]", "--temp", "nan"}, 1, "temper"},
    {"temperature_below_0", {"run", "-m", kModel, "--ids", "IDS:[[1]]", "--temp", "-1"}, 1, "100"},
    {"top_p_above_1", {"run", "-m", kModel, "--ids", "IDS:[[1]]", "--top-p", "1.5"}, 1, "top_p"},
    {"min_p_infinite", {"run", "-m", kModel, "--ids", "IDS:[[1]]", "--min-p", "inf"}, 1, "min_p"},
    {"top_k_below_minus_1", {"run", "-m", kModel, "--ids", "IDS:[[1]]", "--top-k", "-2"}, 1, "top"},
};

INSTANTIATE_TEST_SUITE_P(All, RefusalTest, ::testing::ValuesIn(kRefusals),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace lockstep::e2e
