#include "formats/safetensors_writer.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "formats/safetensors.h"
#include "formats/testing/folder.h"
#include "formats/testing/refusal.h"

namespace lockstep::formats {
namespace {

const std::vector<TensorSpec> kSpecs = {{"logits_0", DType::kF32, {2, 3}},
                                        {"b\"\n", DType::kU8, {2}}};

TEST(SafetensorsWriter, FileIsReadBack) {
  const TestFolder folder;
  auto writer = SafetensorsWriter::create(folder.path("out"), kSpecs);
  ASSERT_TRUE(writer.ok()) << writer.status();
  EXPECT_TRUE(writer->append(as_bytes("0123456789ab")).ok());
  EXPECT_TRUE(writer->append(as_bytes("cdefghijklmnXY")).ok());  // ends one, is the next
  ASSERT_TRUE(writer->finish().ok());
  EXPECT_EQ(folder.files(), 1u);

  const auto model = SafetensorsModel::open_file(folder.path("out"));
  ASSERT_TRUE(model.ok()) << model.status();
  const TensorView& first = *model->tensors().find("logits_0");
  EXPECT_EQ(first.shape, (Shape{2, 3}));
  EXPECT_EQ(*ByteReader(first.bytes).text(24), "0123456789abcdefghijklmn");
  EXPECT_EQ(*ByteReader(model->tensors().find("b\"\n")->bytes).text(2), "XY");
}

TEST(SafetensorsWriter, UnfinishedFileNeverAppears) {
  const TestFolder folder;
  {
    auto writer = SafetensorsWriter::create(folder.path("out"), kSpecs);
    ASSERT_TRUE(writer.ok()) << writer.status();
    EXPECT_TRUE(writer->append(as_bytes("0123")).ok());
    expect_refused(writer->finish(), "22 bytes were not appended");
    const auto moved = *std::move(writer);
    EXPECT_EQ(folder.files(), 1u);
  }
  EXPECT_EQ(folder.files(), 0u);
}

TEST(SafetensorsWriter, OldFileStaysUntilTheNewOneIsComplete) {
  const TestFolder folder;
  folder.write("out", "old");
  auto writer = SafetensorsWriter::create(folder.path("out"), {{"a", DType::kU8, {1}}});
  ASSERT_TRUE(writer.ok()) << writer.status();
  EXPECT_EQ(*read_file(folder.path("out"), 100), "old");
  EXPECT_TRUE(writer->append(as_bytes("x")).ok());
  ASSERT_TRUE(writer->finish().ok());
  EXPECT_TRUE(SafetensorsModel::open_file(folder.path("out")).ok());
}

TEST(SafetensorsWriter, BytesPastTheLastTensorAreRefused) {
  const TestFolder folder;
  auto writer = SafetensorsWriter::create(folder.path("out"), {{"a", DType::kU8, {1}}});
  ASSERT_TRUE(writer.ok()) << writer.status();
  expect_refused(writer->append(as_bytes("xy")), "2 bytes appended where 1 are left");
}

TEST(SafetensorsWriter, FolderThatDoesNotExistIsAnError) {
  const TestFolder folder;
  expect_refused(SafetensorsWriter::create(folder.path("no/out"), kSpecs).status(), "no/out");
}

TEST(SafetensorsWriter, SizesThatOverflowAreRefused) {
  const TestFolder folder;
  const std::vector<TensorSpec> huge = {{"a", DType::kF32, {int64_t{1} << 62}}};
  expect_refused(SafetensorsWriter::create(folder.path("out"), huge).status(), "'a' is too large");
  EXPECT_EQ(folder.files(), 0u);
}

}  // namespace
}  // namespace lockstep::formats
