// Test helper: a new folder that goes away at the end of the test.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace lockstep::formats {

class TestFolder {
 public:
  TestFolder() {
    path_ = testing::TempDir() + "lockstep_test_XXXXXX";
    EXPECT_NE(::mkdtemp(path_.data()), nullptr);
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string path(std::string_view name) const { return path_ + "/" + std::string(name); }
  void write(std::string_view name, std::string_view contents) const {
    std::ofstream(path(name), std::ios::binary) << contents;
  }
  bool has(std::string_view name) const { return std::filesystem::exists(path(name)); }
  size_t files() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::string path_;
};

}  // namespace lockstep::formats
