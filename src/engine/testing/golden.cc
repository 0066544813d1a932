#include "engine/testing/golden.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace lockstep::engine::testing {
namespace {

template <class T>
std::vector<T> read(const formats::SafetensorsModel& file, const std::string& name) {
  const TensorView* view = file.tensors().find(name);
  std::vector<T> out(view->bytes.size() / sizeof(T));
  std::memcpy(out.data(), view->bytes.data(), view->bytes.size());
  return out;
}

}  // namespace

std::string golden_path(const std::string& family) { return "tests/goldens/" + family; }

Golden::Golden(const std::string& family)
    : file_(formats::SafetensorsModel::open_file(golden_path(family) + "/golden.safetensors")
                .value()) {}

std::vector<int64_t> Golden::ids(const std::string& name) const {
  return read<int64_t>(file_, name);
}
std::vector<float> Golden::floats(const std::string& name) const {
  return read<float>(file_, name);
}

double largest_difference(const std::vector<float>& ours, const std::vector<float>& golden) {
  EXPECT_GE(ours.size(), golden.size());
  const size_t skip = ours.size() - golden.size();
  double largest = 0;
  for (size_t i = 0; i < golden.size(); ++i) {
    const double difference = std::fabs(double{ours[skip + i]} - double{golden[i]});
    if (!(difference <= largest)) largest = difference;  // NaN counts, and stays
  }
  return largest;
}

}  // namespace lockstep::engine::testing
