#include "base/tensor_view.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(TensorView, ShapesReadAsLists) {
  EXPECT_EQ(shape_string({}), "[]");
  EXPECT_EQ(shape_string({7}), "[7]");
  EXPECT_EQ(shape_string({576, 1536}), "[576, 1536]");
}

}  // namespace
}  // namespace lockstep
