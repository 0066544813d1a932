#include "formats/safetensors.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "formats/testing/folder.h"
#include "formats/testing/refusal.h"
#include "formats/testing/safetensors_bytes.h"

namespace lockstep::formats {
namespace {

void refuse_file(const std::string& file, std::string_view part) {
  expect_refused(parse_safetensors(as_bytes(file)), part);
}
void refuse(std::string_view header, size_t data_bytes, std::string_view part) {
  refuse_file(safetensors_bytes(header, std::string(data_bytes, '\0')), part);
}

// A header with one entry.
std::string entry(std::string_view dtype, std::string_view shape, std::string_view offsets) {
  return fmt::format(R"({{"a":{{"dtype":"{}","shape":{},"data_offsets":{}}}}})", dtype, shape,
                     offsets);
}

constexpr std::string_view kTwo = R"({"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]},)"
                                  R"("__metadata__":{"format":"pt"},)"
                                  R"("a":{"dtype":"BF16","shape":[1,2],"data_offsets":[0,4]}})";

TEST(Safetensors, TensorsLieInTheOrderOfTheirBytes) {
  const std::string file = safetensors_bytes(kTwo, "aaaabbbbbbbb");
  const auto contents = parse_safetensors(as_bytes(file));
  ASSERT_TRUE(contents.ok()) << contents.status();
  const auto tensors = contents->tensors.tensors();
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].name, "a");
  EXPECT_EQ(tensors[0].view.dtype, DType::kBF16);
  EXPECT_EQ(tensors[0].view.shape, (Shape{1, 2}));
  EXPECT_EQ(*ByteReader(tensors[0].view.bytes).text(4), "aaaa");
  EXPECT_EQ(*ByteReader(contents->tensors.find("b")->bytes).text(8), "bbbbbbbb");
  EXPECT_EQ(contents->metadata.at("format"), "pt");
}

TEST(Safetensors, ScalarsAndEmptyTensorsAreTensors) {
  const std::string file =
      safetensors_bytes(R"({"s":{"dtype":"U8","shape":[],"data_offsets":[0,1]},)"
                        R"("e":{"dtype":"F32","shape":[0,4],"data_offsets":[0,0]}}   )",
                        "x");
  const auto contents = parse_safetensors(as_bytes(file));
  ASSERT_TRUE(contents.ok()) << contents.status();
  EXPECT_EQ(contents->tensors.find("s")->bytes.size(), 1u);
  EXPECT_TRUE(contents->tensors.find("e")->bytes.empty());
}

TEST(Safetensors, FileShorterThanTheLengthFieldIsRefused) {
  for (size_t n = 0; n < 8; ++n) refuse_file(std::string(n, 'x'), "needs 8 bytes");
}

TEST(Safetensors, WrongHeaderLengthsAreRefused) {
  for (const uint64_t length :
       {uint64_t{0}, uint64_t{1}, uint64_t{1} << 63, UINT64_MAX, uint64_t{3}}) {
    refuse_file(safetensors_bytes(length, "{}", ""), "header length");
  }
  refuse_file(safetensors_bytes(7, R"({"a":{}})", ""), "JSON");  // cuts the JSON
}

TEST(Safetensors, HeaderOverTheCapIsRefused) {
  refuse_file(safetensors_bytes(std::string((25 << 20) + 1, ' '), ""), "header length 26214401");
}

TEST(Safetensors, TwoHundredThousandEntriesAreRefused) {
  std::string header = "{";
  for (int i = 0; i < 200000; ++i) {
    header += fmt::format(R"({}"{}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
                          i == 0 ? "" : ",", i);
  }
  refuse(header + "}", 0, "200000 entries; at most 131072 are allowed");
}

TEST(Safetensors, EmptyEntryIsRefused) { refuse(R"({"a":{}})", 0, "'a': dtype is missing"); }

TEST(Safetensors, EntryOfAnotherKindIsRefused) {
  for (const char* value : {"1", "[]", "null", R"("F32")"}) {
    refuse(fmt::format(R"({{"a":{}}})", value), 0, "expected an object");
  }
}

TEST(Safetensors, UnknownKeysInAnEntryAreRefused) {
  refuse(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1}})", 1, "unknown key 'x'");
}

TEST(Safetensors, DuplicateNamesAreRefused) {
  refuse(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
         R"("a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
         2, "key 'a' occurs twice");
}

TEST(Safetensors, ReversedOffsetsAreRefused) {
  refuse(entry("U8", "[4]", "[8,4]"), 8, "data_offsets[1] is 4");
}

TEST(Safetensors, OverlappingTensorsAreRefused) {
  refuse(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
         R"("b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
         6, "tensor 'b' begins at 2, before the end");
  refuse(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
         R"("b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
         4, "before the end");
}

TEST(Safetensors, GapsAreRefused) {
  refuse(entry("U8", "[4]", "[1,5]"), 5, "begins at 1, with a gap");
  refuse(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
         R"("b":{"dtype":"U8","shape":[4],"data_offsets":[5,9]}})",
         9, "with a gap");
}

TEST(Safetensors, TensorPastTheEndIsRefused) {
  refuse(entry("U8", "[4]", "[0,4]"), 3, "ends at 4, past the 3 bytes");
  refuse(entry("U8", "[9223372036854775807]", "[0,9223372036854775807]"), 3, "past the 3 bytes");
}

TEST(Safetensors, BytesAfterTheLastTensorAreRefused) {
  refuse(entry("U8", "[4]", "[0,4]"), 5, "1 bytes after the last tensor");
  refuse("{}", 1, "1 bytes after the last tensor");
}

TEST(Safetensors, OffsetsThatAreNotTwoCountsAreRefused) {
  for (const char* offsets : {"[0]", "[0,1,2]", "[]", "[-1,0]", "[0,1.0]", "[0,\"1\"]",
                              "[0,9223372036854775808]", "[0,1e3]", "7", "null"}) {
    SCOPED_TRACE(offsets);
    refuse(entry("U8", "[1]", offsets), 1, "data_offsets");
  }
}

TEST(Safetensors, ShapeProductOverflowIsRefused) {
  refuse(entry("F32", "[4294967296,4294967296]", "[0,0]"), 0, "is too large");
  refuse(entry("F32", "[4611686018427387904]", "[0,0]"), 0, "is too large");
  refuse(entry("U8", "[2,9223372036854775807,2]", "[0,0]"), 0, "is too large");
}

TEST(Safetensors, NegativeFractionalAndOtherDimensionsAreRefused) {
  for (const char* shape : {"[-1]", "[1.5]", "[2.0]", "[\"2\"]", "[null]", "[true]", "[[2]]",
                            "[9223372036854775808]", "2", "null"}) {
    SCOPED_TRACE(shape);
    refuse(entry("U8", shape, "[0,2]"), 2, "shape");
  }
}

TEST(Safetensors, TooManyDimensionsAreRefused) {
  refuse(entry("U8", "[1,1,1,1,1,1,1,1,1]", "[0,1]"), 1, "9 dimensions");
}

TEST(Safetensors, UnknownDtypesAreRefused) {
  for (const char* dtype : {"F4", "bf16", "", "Q4_0", "FLOAT"}) {
    refuse(entry(dtype, "[1]", "[0,1]"), 1, "dtype");
  }
  refuse(R"({"a":{"dtype":1,"shape":[1],"data_offsets":[0,1]}})", 1, "dtype is 1");
}

TEST(Safetensors, SizeOtherThanShapeTimesTypeIsRefused) {
  refuse(entry("BF16", "[4]", "[0,4]"), 4, "span 4 bytes; BF16 [4] needs 8");
  refuse(entry("F32", "[1]", "[0,8]"), 8, "span 8 bytes; F32 [1] needs 4");
}

TEST(Safetensors, UnclosedAndTrailingJsonIsRefused) {
  refuse(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})", 1, "JSON");
  refuse(entry("U8", "[1]", "[0,1]") + "x", 1, "JSON");
  refuse(entry("U8", "[1]", "[0,1]") + "{}", 1, "JSON");
  refuse(fmt::format(" {}", entry("U8", "[1]", "[0,1]")), 1, "does not begin with '{'");
  refuse("[]", 0, "does not begin with '{'");
}

TEST(Safetensors, NestingBombIsRefused) {
  std::string bomb = R"({"a":)";
  bomb += std::string(1000000, '[');
  refuse(bomb, 0, "JSON");
}

TEST(Safetensors, MetadataMustBeAMapOfStrings) {
  refuse(R"({"__metadata__":{"a":1}})", 0, "__metadata__.'a' is 1; expected a string");
  refuse(R"({"__metadata__":[]})", 0, "__metadata__ is an array");
  refuse(R"({"__metadata__":{"a":{"b":"c"}}})", 0, "expected a string");
}

TEST(Safetensors, NameLongerThanTheCapIsRefused) {
  const std::string name(1025, 'n');
  refuse(fmt::format(R"({{"{}":{{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}}})", name), 1,
         "is longer than 1024 bytes");
}

TEST(Safetensors, HostileNamesCannotBreakALine) { refuse(R"({"a\nb":{}})", 0, "'a\\x0ab'"); }

TEST(Safetensors, EveryCutIsRefusedAndEveryFlipSurvived) {
  const std::string good = safetensors_bytes(kTwo, "aaaabbbbbbbb");
  survive_cuts_and_flips(good, good.size() - 12, [](const std::string& input) {
    return parse_safetensors(as_bytes(input));
  });
}

// A file of one U8 tensor of two bytes.
std::string shard(std::string_view name, std::string_view data) {
  return safetensors_bytes(
      fmt::format(R"({{"{}":{{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}}})", name), data);
}

class ShardedTest : public testing::Test {
 protected:
  void write_shards() {
    folder_.write("one.safetensors", shard("a", "aa"));
    folder_.write("two.safetensors", shard("b", "bb"));
  }
  void write_index(std::string_view weight_map) {
    folder_.write("model.safetensors.index.json",
                  fmt::format(R"({{"metadata":{{"total_size":4}},"weight_map":{}}})", weight_map));
  }
  void refuse_index(std::string_view weight_map, std::string_view part) {
    write_index(weight_map);
    expect_refused(SafetensorsModel::open_directory(folder_.path()), part);
  }

  TestFolder folder_;
};

TEST_F(ShardedTest, ShardsAreOneModel) {
  write_shards();
  write_index(R"({"b":"two.safetensors","a":"one.safetensors"})");
  const auto model = SafetensorsModel::open_directory(folder_.path());
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(*ByteReader(model->tensors().find("a")->bytes).text(2), "aa");
  EXPECT_EQ(*ByteReader(model->tensors().find("b")->bytes).text(2), "bb");
  model->release(*model->tensors().find("b"));
  EXPECT_EQ(*ByteReader(model->tensors().find("b")->bytes).text(2), "bb");
}

TEST_F(ShardedTest, ShardsOutsideTheFolderAreRefused) {
  write_shards();
  for (const char* name :
       {"../one.safetensors", "/etc/passwd", "./one.safetensors", "sub/one.safetensors", "..",
        ".safetensors", "one.bin", "", R"(one.safetensors\u0000.safetensors)"}) {
    SCOPED_TRACE(name);
    refuse_index(fmt::format(R"({{"a":"{}"}})", name), "weight_map places 'a' in");
  }
  refuse_index(R"({"a":7})", "weight_map places 'a' in 7");
}

TEST_F(ShardedTest, MissingShardIsRefused) {
  write_shards();
  refuse_index(R"({"a":"one.safetensors","b":"three.safetensors"})", "three.safetensors");
}

TEST_F(ShardedTest, DoubledTensorIsRefused) {
  write_shards();
  refuse_index(R"({"a":"one.safetensors","a":"two.safetensors"})", "key 'a' occurs twice");
  folder_.write("two.safetensors", shard("a", "bb"));
  refuse_index(R"({"a":"one.safetensors","b":"two.safetensors"})", "does not place there");
}

TEST_F(ShardedTest, TensorInAnotherShardThanSaidIsRefused) {
  write_shards();
  refuse_index(R"({"a":"two.safetensors","b":"one.safetensors"})", "tensor");
  refuse_index(R"({"a":"one.safetensors","b":"one.safetensors"})", "does not hold tensor 'b'");
}

TEST_F(ShardedTest, TensorThatTheIndexLeavesOutIsRefused) {
  folder_.write("one.safetensors",
                safetensors_bytes(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                                  R"("c":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                                  "ac"));
  refuse_index(R"({"a":"one.safetensors"})", "holds tensor 'c'");
}

TEST_F(ShardedTest, IndexWithoutEntriesIsRefused) {
  refuse_index("{}", "weight_map has 0 entries");
  refuse_index("[]", "weight_map is an array");
}

TEST_F(ShardedTest, BadShardIsNamed) {
  folder_.write("one.safetensors", "short");
  refuse_index(R"({"a":"one.safetensors"})", "one.safetensors: needs 8 bytes");
}

TEST_F(ShardedTest, SingleFileComesFirst) {
  write_shards();
  write_index("nonsense");
  folder_.write("model.safetensors", shard("only", "xx"));
  const auto model = SafetensorsModel::open_directory(folder_.path());
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_NE(model->tensors().find("only"), nullptr);
}

TEST_F(ShardedTest, FolderWithoutWeightsIsNotFound) {
  folder_.write("pytorch_model.bin", "pickle");
  const auto model = SafetensorsModel::open_directory(folder_.path());
  EXPECT_EQ(model.status().code(), absl::StatusCode::kNotFound);
  expect_refused(model, "weights are read from safetensors alone");
}

TEST_F(ShardedTest, TensorsThatTheFileDoesNotAlignAreAligned) {
  std::string header = R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                       R"("f":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}})";
  folder_.write("model.safetensors", safetensors_bytes(header, "xABCD"));
  const auto model = SafetensorsModel::open_directory(folder_.path());
  ASSERT_TRUE(model.ok()) << model.status();
  const TensorView& view = *model->tensors().find("f");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(view.bytes.data()) % 4, 0u);
  EXPECT_EQ(*ByteReader(view.bytes).text(4), "ABCD");
  model->release(view);
  EXPECT_EQ(*ByteReader(view.bytes).text(4), "ABCD");
}

}  // namespace
}  // namespace lockstep::formats
