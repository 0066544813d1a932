#include "base/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <fstream>

#include "base/bytes.h"

namespace lockstep {
namespace {

class MappedFileTest : public testing::Test {
 protected:
  std::string path(const std::string& name) { return testing::TempDir() + "mapped_file_" + name; }

  std::string write(const std::string& name, const std::string& contents) {
    std::ofstream(path(name), std::ios::binary) << contents;
    return path(name);
  }
};

TEST_F(MappedFileTest, HoldsTheBytesOfTheFile) {
  auto file = MappedFile::open(write("plain", "hello"), 100);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(*ByteReader(file->bytes()).text(5), "hello");
  EXPECT_EQ(file->bytes().size(), 5u);
}

TEST_F(MappedFileTest, EmptyFileIsAnEmptySpan) {
  auto file = MappedFile::open(write("empty", ""), 100);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(file->bytes().empty());
}

TEST_F(MappedFileTest, FileOverTheCapIsRefused) {
  const std::string name = write("large", std::string(101, 'x'));
  EXPECT_EQ(MappedFile::open(name, 100).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(read_file(name, 100).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(MappedFile::open(name, 101).ok());
}

TEST_F(MappedFileTest, MissingFileIsNotFound) {
  EXPECT_EQ(MappedFile::open(path("absent"), 100).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(read_file(path("absent"), 100).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(MappedFileTest, DirectoriesDevicesAndFifosAreRefusedWithoutWaiting) {
  const std::string fifo = path("fifo");
  std::remove(fifo.c_str());
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  for (const std::string& name : {testing::TempDir(), std::string("/dev/zero"), fifo}) {
    EXPECT_EQ(MappedFile::open(name, 100).status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(read_file(name, 100).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(MappedFileTest, BytesSurviveMovingAndGivingBack) {
  const std::string contents(3 * 4096 + 5, 'y');
  auto file = MappedFile::open(write("pages", contents), 1 << 20);
  ASSERT_TRUE(file.ok()) << file.status();
  MappedFile moved = *std::move(file);
  moved.advise_dont_need(moved.bytes().subspan(4097, 5000));
  moved.advise_dont_need(moved.bytes().last(1));
  moved.advise_dont_need(moved.bytes().first(0));
  EXPECT_EQ(*ByteReader(moved.bytes()).text(contents.size()), contents);
}

TEST_F(MappedFileTest, ReadFileGivesTheWholeFile) {
  const std::string contents("a\0b", 3);
  EXPECT_EQ(*read_file(write("small", contents), 100), contents);
}

}  // namespace
}  // namespace lockstep
