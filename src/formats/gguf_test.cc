#include "formats/gguf.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "formats/testing/gguf_builder.h"
#include "formats/testing/refusal.h"

namespace lockstep::formats {
namespace {

class GgufTest : public testing::Test {
 protected:
  // The bytes stay here, so that views into them may be looked at.
  StatusOr<GgufContents> parse(const GgufBuilder& builder) {
    file_ = builder.build();
    return parse_gguf(as_bytes(file_));
  }
  void refuse(const GgufBuilder& builder, std::string_view part) {
    expect_refused(parse(builder), part);
  }
  // The tiny file with one more tensor.
  void refuse_tensor(GgufTensorSource tensor, std::string_view part) {
    refuse(tiny_llama_gguf().add_tensor(std::move(tensor)), part);
  }

  std::string file_;
};

std::string packed(auto... numbers) {
  ByteWriter writer;
  (writer.number(numbers), ...);
  return writer.take();
}

constexpr uint32_t kArrayType = 9;

TEST_F(GgufTest, TensorsHaveTheirOutermostDimensionFirstAndTheirBytes) {
  GgufBuilder builder;
  builder.add_tensor({.name = "w", .dims = {2, 3}, .data = std::string(24, 'w'), .offset = {}});
  builder.add_tensor(
      {.name = "q", .dims = {64}, .type = 3, .data = std::string(40, 'q'), .offset = {}});
  const auto gguf = parse(builder);
  ASSERT_TRUE(gguf.ok()) << gguf.status();
  const TensorView* w = gguf->tensors.find("w");
  ASSERT_NE(w, nullptr);
  EXPECT_EQ(w->shape, (Shape{3, 2}));
  EXPECT_EQ(w->dtype, DType::kF32);
  EXPECT_EQ(*ByteReader(w->bytes).text(24), std::string(24, 'w'));
  const TensorView* q = gguf->tensors.find("q");
  ASSERT_NE(q, nullptr);
  EXPECT_EQ(q->dtype, DType::kQ4_1);
  EXPECT_EQ(*ByteReader(q->bytes).text(40), std::string(40, 'q'));
}

TEST_F(GgufTest, EveryValueTypeIsRead) {
  GgufBuilder b;
  b.set_raw("u8", 0, packed(uint8_t{200})).set_raw("i8", 1, packed(int8_t{-3}));
  b.set_raw("u16", 2, packed(uint16_t{60000})).set_raw("i16", 3, packed(int16_t{-300}));
  b.set_u32("u32", 4000000000u).set_i32("i32", -5);
  b.set_u64("u64", uint64_t{1} << 63).set_raw("i64", 11, packed(int64_t{-6}));
  b.set_f32("f32", 0.5f).set_raw("f64", 12, packed(0.1));
  b.set_bool("bool", true).set_string("string", "text");
  b.set_strings("strings", {"a", "", "bc"}).set_i32s("i32s", {1, -2});
  const auto gguf = parse(b);
  ASSERT_TRUE(gguf.ok()) << gguf.status();
  const GgufMetadata& m = gguf->metadata;
  EXPECT_EQ(*m.integer("u8", 0, 255), 200);
  EXPECT_EQ(*m.integer("i8", -10, 0), -3);
  EXPECT_EQ(*m.integer("u16", 0, 65535), 60000);
  EXPECT_EQ(*m.integer("i16", -300, 0), -300);
  EXPECT_EQ(*m.integer("u32", 0, INT64_MAX), 4000000000);
  EXPECT_EQ(*m.integer("i32", -5, -5), -5);
  expect_refused(m.integer("u64", 0, INT64_MAX), "u64 is 9223372036854775808");
  EXPECT_EQ(*m.integer("i64", -6, 0), -6);
  EXPECT_EQ(*m.number("f32", 0, 1), 0.5);
  EXPECT_EQ(*m.number("f64", 0, 1), 0.1);
  EXPECT_EQ(*m.number("u8", 0, 255), 200.0);
  EXPECT_TRUE(*m.boolean("bool"));
  EXPECT_EQ(*m.string("string"), "text");
  EXPECT_EQ((*m.strings("strings"))[2], "bc");
  EXPECT_EQ(*m.integers("i32s", -2, 1), (std::vector<int64_t>{1, -2}));
  EXPECT_EQ(*m.array_size("strings"), 3u);
}

TEST_F(GgufTest, MetadataErrorsNameTheKeyTheValueAndWhatIsAllowed) {
  GgufBuilder b;
  b.set_u32("n", 7).set_string("s", "x").set_f32("nan", __builtin_nanf(""));
  b.set_strings("list", {"x"}).set_i32s("ids", {1, 9});
  const auto gguf = parse(b);
  ASSERT_TRUE(gguf.ok()) << gguf.status();
  const GgufMetadata& m = gguf->metadata;
  EXPECT_EQ(message_of(m.integer("n", 0, 6).status()), "n is 7; expected an integer in [0, 6]");
  EXPECT_EQ(message_of(m.integer("s", 0, 6).status()), "s is 'x'; expected an integer in [0, 6]");
  EXPECT_EQ(message_of(m.integer("absent", 0, 6).status()), "absent is missing");
  expect_refused(m.number("nan", 0, 1), "nan is nan");
  expect_refused(m.string("list"), "list is an array of 1; expected a string");
  expect_refused(m.boolean("n"), "expected true or false");
  expect_refused(m.strings("ids"), "ids is an array of numbers");
  expect_refused(m.strings("s"), "expected an array");
  expect_refused(m.integers("ids", 0, 8), "ids[1] is not an integer in [0, 8]");
  expect_refused(m.integers("list", 0, 8), "list[0] is not an integer");
  EXPECT_EQ(*m.integer_or("absent", 5, 0, 6), 5);
  expect_refused(m.integer_or("n", 5, 0, 6), "n is 7");
}

TEST_F(GgufTest, Version2IsRead) {
  GgufBuilder builder = tiny_llama_gguf();
  builder.version = 2;
  EXPECT_TRUE(parse(builder).ok());
}

TEST_F(GgufTest, WrongMagicIsRefused) {
  GgufBuilder builder = tiny_llama_gguf();
  builder.magic = "GGML";
  refuse(builder, "does not begin with 'GGUF'");
}

TEST_F(GgufTest, UnknownVersionIsRefused) {
  GgufBuilder builder = tiny_llama_gguf();
  for (const uint32_t version : {0u, 1u, 4u, UINT32_MAX}) {
    builder.version = version;
    refuse(builder, "supported: 2, 3");
  }
  builder.version = 0x03000000;
  refuse(builder, "big-endian");
}

TEST_F(GgufTest, HugeCountsAreRefused) {
  for (const uint64_t count : {uint64_t{1} << 62, UINT64_MAX, uint64_t{1} << 20}) {
    GgufBuilder keys = tiny_llama_gguf();
    keys.claimed_keys = count;
    refuse(keys, "keys; at most");
    GgufBuilder tensors = tiny_llama_gguf();
    tensors.claimed_tensors = count;
    refuse(tensors, "tensors; at most");
  }
}

TEST_F(GgufTest, StringPastTheEndIsRefused) {
  for (const uint64_t length : {uint64_t{1} << 30, uint64_t{1} << 62, UINT64_MAX}) {
    refuse(GgufBuilder().set_raw("s", 8, packed(length)), "bytes at offset");
  }
}

TEST_F(GgufTest, EmptyAndHugeKeysAreRefused) {
  refuse(GgufBuilder().set_u32("", 1), "key 0 has a length of 0");
  refuse(GgufBuilder().set_u32(std::string(1 << 16, 'k'), 1), "key 0 has a length of 65536");
}

TEST_F(GgufTest, ArrayLongerThanTheFileIsRefused) {
  for (const uint32_t element : {0u, 7u, 8u, 10u}) {
    for (const uint64_t count : {uint64_t{1000}, uint64_t{1} << 62, UINT64_MAX}) {
      refuse(GgufBuilder().set_raw("a", kArrayType, packed(element, count)), "array elements");
    }
  }
}

TEST_F(GgufTest, ArrayOfArraysBombIsRefused) {
  std::string bomb;
  for (int i = 0; i < 100000; ++i) bomb += packed(kArrayType, uint64_t{1});
  refuse(GgufBuilder().set_raw("a", kArrayType, bomb), "'a': arrays of arrays are not allowed");
}

TEST_F(GgufTest, UnknownValueTypeIsRefused) {
  for (const uint32_t type : {13u, 255u, UINT32_MAX}) {
    refuse(GgufBuilder().set_raw("k", type, packed(uint64_t{0})), "value type");
    refuse(GgufBuilder().set_raw("k", kArrayType, packed(type, uint64_t{0})), "value type");
  }
}

TEST_F(GgufTest, BooleanOtherThanZeroAndOneIsRefused) {
  refuse(GgufBuilder().set_raw("b", 7, packed(uint8_t{2})), "boolean 2");
  refuse(GgufBuilder().set_raw("b", kArrayType, packed(7u, uint64_t{2}, uint8_t{1}, uint8_t{3})),
         "boolean 3");
}

TEST_F(GgufTest, DuplicateKeyIsRefused) {
  refuse(tiny_llama_gguf().repeat("llama.block_count"), "key 'llama.block_count' occurs twice");
}

TEST_F(GgufTest, DuplicateTensorIsRefused) {
  refuse_tensor({.name = "blk.0.attn_q.weight", .dims = {8}, .data = {}, .offset = {}},
                "tensor 'blk.0.attn_q.weight' occurs twice");
}

TEST_F(GgufTest, BadAlignmentIsRefused) {
  for (const uint64_t alignment : {uint64_t{0}, uint64_t{1}, uint64_t{3}, uint64_t{12},
                                   uint64_t{48}, uint64_t{1} << 17, uint64_t{1} << 40}) {
    refuse(tiny_llama_gguf().set_u64("general.alignment", alignment), "general.alignment");
  }
  refuse(tiny_llama_gguf().set_string("general.alignment", "32"), "general.alignment is '32'");
}

TEST_F(GgufTest, OtherAlignmentsAreFollowed) {
  for (const uint32_t alignment : {8u, 64u, 4096u}) {
    GgufBuilder builder = tiny_llama_gguf().set_u32("general.alignment", alignment);
    builder.alignment = alignment;
    EXPECT_TRUE(parse(builder).ok()) << alignment;
  }
}

TEST_F(GgufTest, ZeroDimensionIsRefused) {
  refuse_tensor({.name = "z", .dims = {0}, .data = {}, .offset = {}}, "dimension 0 is 0");
  refuse_tensor({.name = "z", .dims = {8, 0}, .data = {}, .offset = {}}, "dimension 1 is 0");
}

TEST_F(GgufTest, HugeAndOverflowingDimensionsAreRefused) {
  constexpr uint64_t kHuge = uint64_t{1} << 62;
  refuse_tensor({.name = "h", .dims = {kHuge}, .data = {}, .offset = {}}, "is too large");
  refuse_tensor({.name = "h", .dims = {uint64_t{1} << 40}, .data = {}, .offset = {}}, "past the");
  refuse_tensor({.name = "h", .dims = {kHuge, 4, 4}, .data = {}, .offset = {}}, "is too large");
  // Wraps to 16 elements when multiplied without a check.
  refuse_tensor({.name = "h",
                 .dims = {uint64_t{1} << 34, (uint64_t{1} << 30) + 1, 16, 1},
                 .data = {},
                 .offset = {}},
                "is too large");
  refuse_tensor({.name = "h", .dims = {UINT64_MAX}, .data = {}, .offset = {}}, "dimension 0 is -1");
}

TEST_F(GgufTest, NumberOfDimensionsIsBounded) {
  refuse_tensor({.name = "d", .dims = {}, .data = {}, .offset = {}}, "0 dimensions");
  refuse_tensor({.name = "d", .dims = {1, 1, 1, 1, 1}, .data = {}, .offset = {}}, "5 dimensions");
}

TEST_F(GgufTest, UnknownTensorTypeIsRefused) {
  for (const uint32_t type : {4u, 1000u, UINT32_MAX}) {  // UINT32_MAX: -1
    refuse_tensor({.name = "t", .dims = {32}, .type = type, .data = {}, .offset = {}},
                  "tensor 't': tensor type " + std::to_string(type) + " is unknown");
  }
}

TEST_F(GgufTest, UnsupportedTensorTypeIsRefusedByItsName) {
  refuse_tensor({.name = "t", .dims = {256}, .type = 17, .data = {}, .offset = {}},
                "tensor type IQ2_XS (17) is not supported");
}

TEST_F(GgufTest, RowsThatAreNotWholeBlocksAreRefused) {
  // 16 x 2 elements make a block of 32, but no row is one.
  refuse_tensor({.name = "t", .dims = {16, 2}, .type = 2, .data = {}, .offset = {}},
                "rows of 16 are not whole Q4_0 blocks of 32");
}

TEST_F(GgufTest, TensorPastTheEndIsRefused) {
  refuse_tensor({.name = "t", .dims = {8}, .data = {}, .offset = uint64_t{1} << 40}, "past the");
  refuse_tensor({.name = "t", .dims = {8}, .data = {}, .offset = UINT64_MAX - 31}, "past the");
  refuse_tensor({.name = "t", .dims = {64}, .data = "short", .offset = {}}, "past the");
}

TEST_F(GgufTest, UnalignedTensorIsRefused) {
  refuse_tensor({.name = "t", .dims = {8}, .data = {}, .offset = 33}, "is not aligned to 32");
}

TEST_F(GgufTest, OverlappingTensorsAreRefused) {
  refuse_tensor({.name = "t", .dims = {8}, .data = {}, .offset = 32}, "overlaps the one before");
  refuse_tensor({.name = "t", .dims = {8}, .data = {}, .offset = 0}, "overlaps the one before");
}

TEST_F(GgufTest, GapBetweenTensorsIsRefused) {
  GgufBuilder builder;
  builder.add_tensor({.name = "a", .dims = {8}, .data = {}, .offset = 0});
  builder.add_tensor({.name = "b", .dims = {8}, .data = {}, .offset = 96});
  builder.after_data = std::string(64, '\0');
  refuse(builder, "leaves a gap");
}

TEST_F(GgufTest, BytesAfterTheLastTensorAreRefused) {
  GgufBuilder builder;
  builder.add_tensor({.name = "a", .dims = {5}, .data = {}, .offset = {}});  // 20 of 32 bytes
  builder.after_data = std::string(12, '\0');
  EXPECT_TRUE(parse(builder).ok());
  builder.after_data = std::string(13, '\0');
  refuse(builder, "13 bytes after the last tensor");
}

TEST_F(GgufTest, TensorNameLongerThanTheCapIsRefused) {
  refuse_tensor({.name = std::string(1025, 'n'), .dims = {8}, .data = {}, .offset = {}},
                "has a name of 1025 bytes");
  refuse_tensor({.name = "", .dims = {8}, .data = {}, .offset = {}}, "has a name of 0 bytes");
}

TEST_F(GgufTest, HostileNamesCannotBreakALine) {
  refuse_tensor({.name = "a\nb", .dims = {0}, .data = {}, .offset = {}}, "'a\\x0ab'");
}

TEST_F(GgufTest, NoTensorsAndNoKeysIsAFile) {
  const auto gguf = parse(GgufBuilder());
  ASSERT_TRUE(gguf.ok()) << gguf.status();
  EXPECT_TRUE(gguf->tensors.tensors().empty());
}

TEST_F(GgufTest, EveryCutIsRefusedAndEveryFlipSurvived) {
  const GgufBuilder builder = tiny_llama_gguf();
  const std::string good = builder.build();
  survive_cuts_and_flips(good, builder.header_bytes(),
                         [](const std::string& input) { return parse_gguf(as_bytes(input)); });
}

}  // namespace
}  // namespace lockstep::formats
