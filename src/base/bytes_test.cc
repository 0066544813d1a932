#include "base/bytes.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(ByteReader, ReadsLittleEndianNumbersAtAnyAlignment) {
  ByteWriter writer;
  writer.number<uint8_t>(0xab);
  writer.number<uint16_t>(0x1234);
  writer.number<int32_t>(-2);
  writer.number<uint64_t>(0x1122334455667788u);
  writer.number<float>(1.5f);
  writer.number<double>(-0.25);
  EXPECT_EQ(writer.str().substr(1, 2), "\x34\x12");

  ByteReader reader(writer.bytes());
  EXPECT_EQ(*reader.u8(), 0xab);
  EXPECT_EQ(*reader.u16(), 0x1234);
  EXPECT_EQ(*reader.i32(), -2);
  EXPECT_EQ(*reader.u64(), 0x1122334455667788u);
  EXPECT_EQ(*reader.f32(), 1.5f);
  EXPECT_EQ(*reader.f64(), -0.25);
  EXPECT_EQ(reader.remaining(), 0u);
}

TEST(ByteReader, RefusesToReadPastTheEndAndStaysWhereItWas) {
  ByteReader reader(as_bytes("abc"));
  ASSERT_TRUE(reader.u8().ok());
  const Status status = reader.u32().status();
  EXPECT_EQ(message_of(status), "needs 4 bytes at offset 1, 2 remain");
  EXPECT_EQ(reader.position(), 1u);
  EXPECT_EQ(*reader.text(2), "bc");
}

TEST(ByteReader, RefusesLengthsThatWouldWrap) {
  ByteReader reader(as_bytes("abcd"));
  ASSERT_TRUE(reader.u16().ok());
  EXPECT_FALSE(reader.bytes(UINT64_MAX).ok());
  EXPECT_FALSE(reader.text(UINT64_MAX - 1).ok());
  EXPECT_FALSE(reader.child(uint64_t{1} << 63).ok());
  EXPECT_EQ(reader.remaining(), 2u);
}

TEST(ByteReader, ChildEndsWhereItsLengthSays) {
  ByteReader reader(as_bytes("abcdef"));
  auto child = reader.child(4);
  ASSERT_TRUE(child.ok());
  EXPECT_EQ(child->remaining(), 4u);
  EXPECT_FALSE(child->bytes(5).ok());
  EXPECT_EQ(*child->text(4), "abcd");
  EXPECT_EQ(*reader.text(2), "ef");
}

TEST(ByteReader, ReadsNothingFromNothing) {
  ByteReader reader({});
  EXPECT_TRUE(reader.bytes(0).ok());
  EXPECT_FALSE(reader.u8().ok());
}

TEST(ByteWriter, SizedTextIsReadBackByItsLength) {
  ByteWriter writer;
  writer.sized_text("hello");
  ByteReader reader(writer.bytes());
  EXPECT_EQ(*reader.text(*reader.u64()), "hello");
}

}  // namespace
}  // namespace lockstep
