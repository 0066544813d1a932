#include "formats/checkpoint.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/bytes.h"
#include "formats/chat_template_source.h"
#include "formats/testing/folder.h"
#include "formats/testing/gguf_builder.h"
#include "formats/testing/refusal.h"
#include "formats/testing/safetensors_bytes.h"

namespace lockstep::formats {
namespace {

constexpr std::string_view kConfig = R"({"model_type":"llama","vocab_size":8,"hidden_size":4,
    "num_hidden_layers":1,"num_attention_heads":2,"intermediate_size":8,"eos_token_id":2})";
constexpr std::string_view kHeader = R"({"z":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                                     R"("a":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})";

class CheckpointTest : public testing::Test {
 protected:
  void write_directory() {
    folder_.write("config.json", kConfig);
    folder_.write("model.safetensors", safetensors_bytes(kHeader, "zza"));
  }
  StatusOr<std::unique_ptr<Checkpoint>> open() { return open_checkpoint(folder_.path()); }
  std::string digest() {
    const auto checkpoint = open();
    EXPECT_TRUE(checkpoint.ok()) << checkpoint.status();
    return checkpoint.ok() ? *model_digest(**checkpoint) : "";
  }

  TestFolder folder_;
};

TEST_F(CheckpointTest, DirectoryIsOpened) {
  write_directory();
  const auto checkpoint = open();
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_EQ((*checkpoint)->config().family, "llama");
  EXPECT_EQ((*checkpoint)->tensor_names(), (std::vector<std::string>{"z", "a"}));
  EXPECT_TRUE((*checkpoint)->has("a"));
  EXPECT_FALSE((*checkpoint)->has("b"));
  EXPECT_EQ(*ByteReader((*checkpoint)->tensor("z")->bytes).text(2), "zz");
  EXPECT_EQ((*checkpoint)->tensor("b").status().code(), absl::StatusCode::kNotFound);
  EXPECT_GT((*checkpoint)->file_bytes(), 3);
}

TEST_F(CheckpointTest, DirectoryWithoutTokenizerIsOpenedAndSaysSo) {
  write_directory();
  const auto checkpoint = open();
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_EQ((*checkpoint)->tokenizer().status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ((*checkpoint)->chat_template().status().code(), absl::StatusCode::kNotFound);
}

TEST_F(CheckpointTest, GgufFileIsOpenedWhateverItsName) {
  folder_.write("weights.bin", tiny_llama_gguf().build());
  const auto checkpoint = open_checkpoint(folder_.path("weights.bin"));
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_EQ((*checkpoint)->config().layout, WeightLayout::kGguf);
  EXPECT_EQ((*checkpoint)->tensor("blk.0.attn_k.weight")->shape, (Shape{4, 8}));
  EXPECT_EQ((*checkpoint)->tokenizer()->token_texts.size(), 6u);
  EXPECT_EQ(*(*checkpoint)->chat_template(), "{{ messages[0].content }}");
}

TEST_F(CheckpointTest, ReleasedTensorsAreReadAgain) {
  GgufBuilder builder = tiny_llama_gguf();
  builder.add_tensor(
      {.name = "big", .dims = {4096}, .data = std::string(16384, 'b'), .offset = {}});
  folder_.write("m.gguf", builder.build());
  const auto checkpoint = open_checkpoint(folder_.path("m.gguf"));
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  (*checkpoint)->release("big");
  (*checkpoint)->release("no such tensor");
  EXPECT_EQ(*ByteReader((*checkpoint)->tensor("big")->bytes).text(16384), std::string(16384, 'b'));
}

TEST_F(CheckpointTest, GenerationConfigIsRead) {
  write_directory();
  folder_.write("generation_config.json", R"({"temperature":0.5,"eos_token_id":[3,4]})");
  const auto checkpoint = open();
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_EQ((*checkpoint)->generation().temperature, 0.5);
  EXPECT_EQ((*checkpoint)->generation().eos_ids, (std::vector<int64_t>{3, 4}));
}

TEST_F(CheckpointTest, ErrorsNameTheFile) {
  write_directory();
  folder_.write("generation_config.json", R"({"temperature":-5})");
  expect_refused(open(), "generation_config.json: temperature -5");
  folder_.write("model.safetensors", "short");
  folder_.write("generation_config.json", "{}");
  expect_refused(open(), "model.safetensors: needs 8 bytes");
  folder_.write("config.json", R"({"model_type":"llama"})");
  expect_refused(open(), "config.json: vocab_size is missing");
  folder_.write("m.gguf", "GGUF");
  expect_refused(open_checkpoint(folder_.path("m.gguf")), "m.gguf: needs 4 bytes");
}

TEST_F(CheckpointTest, WhatIsNoModelIsRefused) {
  expect_refused(open(), "config.json");
  folder_.write("model.pt", "PK\x03\x04");
  expect_refused(open_checkpoint(folder_.path("model.pt")),
                 "is neither a GGUF file nor a directory");
  folder_.write("empty", "");
  expect_refused(open_checkpoint(folder_.path("empty")), "is neither");
  EXPECT_EQ(open_checkpoint(folder_.path("absent")).status().code(), absl::StatusCode::kNotFound);
  expect_refused(open_checkpoint("/dev/zero"), "is not a regular file");
}

TEST_F(CheckpointTest, ChatTemplateComesFromTheFirstPlaceThatHasOne) {
  write_directory();
  folder_.write("tokenizer_config.json", R"({"chat_template":"from config"})");
  EXPECT_EQ(*(*open())->chat_template(), "from config");
  folder_.write("chat_template.jinja", "from jinja");
  EXPECT_EQ(*(*open())->chat_template(), "from jinja");
}

TEST_F(CheckpointTest, NamedChatTemplatesGiveTheDefaultOne) {
  write_directory();
  folder_.write("tokenizer_config.json",
                R"({"chat_template":[{"name":"rag","template":"r"},
                                     {"name":"default","template":"d"}]})");
  EXPECT_EQ(*(*open())->chat_template(), "d");
  folder_.write("tokenizer_config.json", R"({"chat_template":[{"name":"rag","template":"r"}]})");
  EXPECT_EQ((*open())->chat_template().status().code(), absl::StatusCode::kNotFound);
  folder_.write("tokenizer_config.json", R"({"chat_template":7})");
  expect_refused((*open())->chat_template(), "chat_template is 7");
}

TEST_F(CheckpointTest, TemplatesAreChosenByTheirUse) {
  const auto chosen = [&](TemplateUse use) {
    return chat_template_from_directory(folder_.path(), use).value_or("none");
  };
  folder_.write("chat_template.json", R"({"chat_template":"oldest"})");
  EXPECT_EQ(chosen(TemplateUse::kTools), "oldest");
  folder_.write("tokenizer_config.json", R"({"chat_template":[{"name":"default","template":"d"},
      {"name":"tool_use","template":"t"},{"name":"other","template":"o"}]})");
  EXPECT_EQ(chosen(TemplateUse::kChat), "d");
  EXPECT_EQ(chosen(TemplateUse::kTools), "t");
  EXPECT_EQ(chosen(TemplateUse::kDocuments), "d");
  folder_.write("chat_template.jinja", "file");
  EXPECT_EQ(chosen(TemplateUse::kTools), "file");
  std::filesystem::create_directory(folder_.path("additional_chat_templates"));
  folder_.write("additional_chat_templates/rag.jinja", "documents");
  EXPECT_EQ(chosen(TemplateUse::kDocuments), "documents");
  EXPECT_EQ(chosen(TemplateUse::kChat), "file");
}

TEST_F(CheckpointTest, ListsOfTemplatesThatAreNotListsOfTemplatesAreRefused) {
  for (const auto& [list, part] : {
           std::pair(R"([{"name":"default","template":"a"},{"name":"default","template":"b"}])",
                     "two templates named 'default'"),
           std::pair(R"([{"name":"default"}])", "template is missing"),
           std::pair(R"([{"template":"x"}])", "name is missing"),
           std::pair(R"([{"name":7,"template":"x"}])", "name is 7"),
           std::pair(R"(["x"])", "expected an object"),
       }) {
    folder_.write("tokenizer_config.json", fmt::format(R"({{"chat_template":{}}})", list));
    expect_refused(chat_template_from_directory(folder_.path()), part);
  }
}

TEST_F(CheckpointTest, GgufTemplatesAreChosenByTheirUse) {
  const std::string file = GgufBuilder()
                               .set_string("tokenizer.chat_template", "d")
                               .set_string("tokenizer.chat_template.tool_use", "t")
                               .set_strings("tokenizer.chat_templates", {"tool_use"})
                               .build();
  const auto gguf = parse_gguf(as_bytes(file));
  ASSERT_TRUE(gguf.ok()) << gguf.status();
  EXPECT_EQ(*chat_template_from_gguf(gguf->metadata), "d");
  EXPECT_EQ(*chat_template_from_gguf(gguf->metadata, TemplateUse::kTools), "t");
  EXPECT_EQ(*chat_template_from_gguf(gguf->metadata, TemplateUse::kDocuments), "d");
}

TEST_F(CheckpointTest, DigestDependsOnContentsAlone) {
  write_directory();
  const std::string first = digest();
  EXPECT_EQ(first.size(), 64u);
  folder_.write("model.safetensors",
                safetensors_bytes(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                                  R"("z":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                                  "azz"));
  EXPECT_EQ(digest(), first);  // another order in the file
}

TEST_F(CheckpointTest, DigestChangesWithBytesShapesNamesAndConfig) {
  write_directory();
  const std::string first = digest();
  const auto expect_other = [&](std::string_view header, std::string_view data) {
    folder_.write("model.safetensors", safetensors_bytes(header, data));
    EXPECT_NE(digest(), first);
  };
  expect_other(kHeader, "zzb");
  std::string header(kHeader);
  header.replace(header.find("[2]"), 3, "[1,2]");
  expect_other(header, "zza");
  header = kHeader;
  header.replace(header.find("\"z\""), 3, "\"y\"");
  expect_other(header, "zza");
  header = kHeader;
  header.replace(header.find("U8"), 2, "I8");
  expect_other(header, "zza");
  write_directory();
  std::string config(kConfig);
  config.replace(config.find("\"eos_token_id\":2"), 16, "\"eos_token_id\":3");
  folder_.write("config.json", config);
  EXPECT_NE(digest(), first);
}

}  // namespace
}  // namespace lockstep::formats
