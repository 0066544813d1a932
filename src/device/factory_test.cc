#include "device/factory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/cuda_device.h"

namespace lockstep::device {
namespace {

std::string refusal(const std::string& name) {
  const auto device = make_device({.name = name, .profile = {}, .threads = 1});
  EXPECT_FALSE(device.ok());
  return device.ok() ? "" : message_of(device.status());
}

TEST(Factory, MakesDevicesByName) {
  for (const std::string name : {"cpu", "reference"}) {
    const auto device = make_device({.name = name, .profile = {}, .threads = 1});
    ASSERT_TRUE(device.ok()) << device.status();
    EXPECT_THAT((*device)->description(), testing::StartsWith(name));
  }
}

TEST(Factory, UnknownDeviceIsRefusedWithTheNamesAllowed) {
  for (const std::string name : {"", "gpu", "CPU"}) {
    EXPECT_THAT(refusal(name), testing::HasSubstr("allowed: cpu, reference, cuda"));
  }
}

TEST(Factory, CudaSaysWhatToUseInstead) {
  EXPECT_THAT(refusal("cuda"), testing::HasSubstr("--device cpu or reference"));
  EXPECT_FALSE(describe_cuda().empty());
}

}  // namespace
}  // namespace lockstep::device
