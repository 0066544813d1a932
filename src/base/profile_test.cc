#include "base/profile.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

constexpr Arithmetic kAll[] = {Arithmetic::kF32, Arithmetic::kBF16, Arithmetic::kInt8};

TEST(Profile, NameIsReadBack) {
  for (const Arithmetic arithmetic : kAll) {
    const Profile profile{arithmetic, Profile::default_kv(arithmetic)};
    EXPECT_EQ(*parse_arithmetic(profile.name()), arithmetic);
  }
}

TEST(Profile, AnotherKvTypeIsPartOfTheName) {
  EXPECT_EQ((Profile{Arithmetic::kF32, KvType::kF32}).name(), "cpu-f32-1");
  EXPECT_EQ((Profile{Arithmetic::kBF16, KvType::kBF16}).name(), "cpu-bf16-1");
  EXPECT_EQ((Profile{Arithmetic::kInt8, KvType::kBF16}).name(), "cpu-int8-1");
  EXPECT_EQ((Profile{Arithmetic::kBF16, KvType::kF32}).name(), "cpu-bf16-1+kv-f32");
  EXPECT_EQ((Profile{Arithmetic::kF32, KvType::kF16}).name(), "cpu-f32-1+kv-f16");
}

TEST(Profile, NamesOfDifferentProfilesDiffer) {
  std::vector<std::string> names;
  for (const Arithmetic arithmetic : kAll) {
    for (const KvType kv : {KvType::kF32, KvType::kF16, KvType::kBF16}) {
      names.push_back(Profile{arithmetic, kv}.name());
    }
  }
  for (size_t i = 0; i < names.size(); ++i) {
    for (size_t j = 0; j < i; ++j) EXPECT_NE(names[i], names[j]);
  }
}

TEST(Profile, UnknownNamesAreRefusedWithTheListOfKnownOnes) {
  const auto status = parse_arithmetic("cpu-f32-2").status();
  for (const Arithmetic arithmetic : kAll) {
    const Profile profile{arithmetic, Profile::default_kv(arithmetic)};
    EXPECT_NE(message_of(status).find(profile.name()), std::string::npos);
  }
  EXPECT_FALSE(parse_arithmetic("").ok());
  EXPECT_FALSE(parse_kv_type("F32").ok());
}

TEST(Profile, KvTypesHaveTheirBytes) {
  EXPECT_EQ(kv_bytes(*parse_kv_type("f32")), 4);
  EXPECT_EQ(kv_bytes(*parse_kv_type("f16")), 2);
  EXPECT_EQ(kv_bytes(*parse_kv_type("bf16")), 2);
}

}  // namespace
}  // namespace lockstep
