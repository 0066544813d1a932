// GGUF, versions 2 and 3, little endian: a header, typed metadata, tensor descriptions, aligned
// data. https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
//
// Accepted files are exact: keys and names are unique, and the tensors' data fills the file in
// order with less than one alignment of padding between them and at the end.
//
// Thread rule: immutable values. Ownership: everything borrows the file's bytes; long arrays are
// kept as views into it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"
#include "formats/name_index.h"
#include "formats/tensor_table.h"

namespace lockstep::formats {

enum class GgufType : uint32_t {
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kF32,
  kBool,
  kString,
  kArray,
  kU64,
  kI64,
  kF64,
};

struct GgufArray {
  GgufType element = GgufType::kU8;  // not kArray: arrays of arrays are refused
  uint64_t count = 0;
  std::span<const std::byte> numbers;     // count packed elements of a number type
  std::vector<std::string_view> strings;  // or count strings
};

// Integers of every width are int64_t, but uint64_t where they do not fit; floats are double.
using GgufValue = std::variant<int64_t, uint64_t, double, bool, std::string_view, GgufArray>;

// Metadata with checked reading; errors name the key: "llama.block_count is 0; expected ...".
class GgufMetadata {
 public:
  GgufMetadata() = default;
  // invalid_argument naming a key that occurs twice.
  static StatusOr<GgufMetadata> create(std::vector<std::pair<std::string_view, GgufValue>> entries);

  std::span<const std::pair<std::string_view, GgufValue>> entries() const { return entries_; }
  const GgufValue* find(std::string_view key) const;  // null: absent
  bool has(std::string_view key) const { return find(key) != nullptr; }

  // invalid_argument when absent, of another type, or outside [lo, hi].
  StatusOr<int64_t> integer(std::string_view key, int64_t lo, int64_t hi) const;
  StatusOr<double> number(std::string_view key, double lo, double hi) const;
  StatusOr<bool> boolean(std::string_view key) const;
  StatusOr<std::string_view> string(std::string_view key) const;
  StatusOr<std::span<const std::string_view>> strings(std::string_view key) const;
  StatusOr<std::vector<int64_t>> integers(std::string_view key, int64_t lo, int64_t hi) const;
  StatusOr<std::vector<float>> floats(std::string_view key) const;  // of F32, any value
  StatusOr<std::vector<bool>> booleans(std::string_view key) const;
  // Elements of the array at `key`, of any type.
  StatusOr<uint64_t> array_size(std::string_view key) const;

  // The fallback when absent, and the same errors otherwise.
  StatusOr<int64_t> integer_or(std::string_view key, int64_t fallback, int64_t lo,
                               int64_t hi) const;
  StatusOr<double> number_or(std::string_view key, double fallback, double lo, double hi) const;
  StatusOr<bool> boolean_or(std::string_view key, bool fallback) const;
  StatusOr<std::string_view> string_or(std::string_view key, std::string_view fallback) const;

 private:
  auto key_at() const;
  StatusOr<const GgufValue*> required(std::string_view key) const;
  StatusOr<const GgufArray*> array(std::string_view key) const;

  std::vector<std::pair<std::string_view, GgufValue>> entries_;
  NameIndex by_key_;
};

struct GgufContents {
  uint32_t version = 0;
  uint64_t alignment = 0;
  GgufMetadata metadata;
  TensorTable tensors;  // in the order of their bytes; shapes outermost dimension first
};

inline constexpr std::string_view kGgufMagic = "GGUF";

bool begins_with_gguf_magic(std::span<const std::byte> file);

// A whole file's bytes. invalid_argument for what breaks the format; unimplemented, by its name,
// for a tensor type that the format has and this program does not.
StatusOr<GgufContents> parse_gguf(std::span<const std::byte> file);

}  // namespace lockstep::formats
