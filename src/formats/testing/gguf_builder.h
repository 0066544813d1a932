// Writes GGUF files for tests, good ones and ones that break the format on purpose.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/gguf.h"

namespace lockstep::formats {

// One tensor description; dims innermost first, as in the file.
struct GgufTensorSource {
  std::string name;
  std::vector<uint64_t> dims;
  uint32_t type = 0;               // ggml's number; 0: F32
  std::string data;                // empty: zeros of the size that dims and type ask for
  std::optional<uint64_t> offset;  // else aligned after the one before
};

class GgufBuilder {
 public:
  // Setting a key again replaces its value and keeps its place.
  GgufBuilder& set_u32(std::string_view key, uint32_t value);
  GgufBuilder& set_u64(std::string_view key, uint64_t value);
  GgufBuilder& set_i32(std::string_view key, int32_t value);
  GgufBuilder& set_f32(std::string_view key, float value);
  GgufBuilder& set_bool(std::string_view key, bool value);
  GgufBuilder& set_string(std::string_view key, std::string_view value);
  GgufBuilder& set_strings(std::string_view key, const std::vector<std::string>& values);
  GgufBuilder& set_i32s(std::string_view key, const std::vector<int32_t>& values);
  GgufBuilder& set_f32s(std::string_view key, const std::vector<float>& values);
  // Any type number and payload, for the broken ones.
  GgufBuilder& set_raw(std::string_view key, uint32_t type, std::string payload);
  GgufBuilder& remove(std::string_view key);
  // A second entry of a key that exists already.
  GgufBuilder& repeat(std::string_view key);

  GgufBuilder& add_tensor(GgufTensorSource tensor);
  GgufBuilder& remove_tensor(std::string_view name);

  std::string build() const;
  // Bytes in front of the data.
  size_t header_bytes() const { return header().size(); }

  std::string magic = "GGUF";
  uint32_t version = 3;
  uint64_t alignment = 32;  // of the layout; the key is set by hand
  std::optional<uint64_t> claimed_keys;
  std::optional<uint64_t> claimed_tensors;
  std::string after_data;

 private:
  struct Key {
    std::string name;
    uint32_t type;
    std::string payload;
  };
  std::string header() const;

  std::vector<Key> keys_;
  std::vector<GgufTensorSource> tensors_;
};

// A complete llama file of two layers with a byte-level tokenizer, for tests to bend: hidden 8,
// 2 heads over 1 key/value head of 4, intermediate 16, vocabulary 6, tied.
GgufBuilder tiny_llama_gguf();

}  // namespace lockstep::formats
