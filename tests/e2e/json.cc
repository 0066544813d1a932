#include "e2e/json.h"

#include <gtest/gtest.h>

namespace lockstep::e2e {
namespace {

int64_t as_integer(const formats::JsonValue& value) {
  if (const int64_t* integer = value.if_int64()) return *integer;
  ADD_FAILURE() << value.describe() << " is no integer";
  return 0;
}

}  // namespace

JsonOut::JsonOut(std::string_view out) {
  auto root = formats::parse_json(out, {});
  EXPECT_TRUE(root.ok()) << root.status() << "\n" << out;
  if (root.ok()) root_ = *std::move(root);
}

bool JsonOut::has(std::string_view key) const {
  const formats::JsonObject* object = root_.if_object();
  return object != nullptr && object->find(key) != nullptr;
}

const formats::JsonValue& JsonOut::member(std::string_view key) const {
  static const formats::JsonValue kNull;
  if (has(key)) return *root_.if_object()->find(key);
  ADD_FAILURE() << "no member " << key;
  return kNull;
}

std::string JsonOut::text(std::string_view key) const {
  if (const std::string* text = member(key).if_string()) return *text;
  ADD_FAILURE() << key << " is no string";
  return "";
}

int64_t JsonOut::integer(std::string_view key) const { return as_integer(member(key)); }

std::vector<int64_t> JsonOut::integers(std::string_view key) const {
  std::vector<int64_t> out;
  const formats::JsonArray* array = member(key).if_array();
  EXPECT_NE(array, nullptr) << key;
  if (array == nullptr) return out;
  for (const formats::JsonValue& value : *array) out.push_back(as_integer(value));
  return out;
}

}  // namespace lockstep::e2e
