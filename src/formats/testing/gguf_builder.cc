#include "formats/testing/gguf_builder.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/checked.h"

namespace lockstep::formats {
namespace {

uint32_t number(GgufType type) { return static_cast<uint32_t>(type); }

template <class T>
std::string payload_of(T value) {
  ByteWriter writer;
  writer.number(value);
  return writer.take();
}

std::string data_of(const GgufTensorSource& tensor) {
  const auto dtype = dtype_from_ggml(tensor.type);
  const auto elements = checked_product(tensor.dims);
  if (!tensor.data.empty() || !dtype || !elements) return tensor.data;
  const auto bytes = dtype_bytes(*dtype, *elements);
  constexpr uint64_t kMostZeros = 1 << 20;  // a tensor that claims more is a broken one
  return std::string(bytes && *bytes <= kMostZeros ? *bytes : 0, '\0');
}

}  // namespace

GgufBuilder& GgufBuilder::set_raw(std::string_view key, uint32_t type, std::string payload) {
  const auto it =
      std::find_if(keys_.begin(), keys_.end(), [&](const Key& k) { return k.name == key; });
  if (it == keys_.end()) {
    keys_.push_back({std::string(key), type, std::move(payload)});
  } else {
    *it = {std::string(key), type, std::move(payload)};
  }
  return *this;
}

GgufBuilder& GgufBuilder::set_u32(std::string_view key, uint32_t value) {
  return set_raw(key, number(GgufType::kU32), payload_of(value));
}
GgufBuilder& GgufBuilder::set_u64(std::string_view key, uint64_t value) {
  return set_raw(key, number(GgufType::kU64), payload_of(value));
}
GgufBuilder& GgufBuilder::set_i32(std::string_view key, int32_t value) {
  return set_raw(key, number(GgufType::kI32), payload_of(value));
}
GgufBuilder& GgufBuilder::set_f32(std::string_view key, float value) {
  return set_raw(key, number(GgufType::kF32), payload_of(value));
}
GgufBuilder& GgufBuilder::set_bool(std::string_view key, bool value) {
  return set_raw(key, number(GgufType::kBool), payload_of<uint8_t>(value ? 1 : 0));
}

GgufBuilder& GgufBuilder::set_string(std::string_view key, std::string_view value) {
  ByteWriter writer;
  writer.sized_text(value);
  return set_raw(key, number(GgufType::kString), writer.take());
}

GgufBuilder& GgufBuilder::set_strings(std::string_view key,
                                      const std::vector<std::string>& values) {
  ByteWriter writer;
  writer.number(number(GgufType::kString));
  writer.number<uint64_t>(values.size());
  for (const std::string& value : values) writer.sized_text(value);
  return set_raw(key, number(GgufType::kArray), writer.take());
}

GgufBuilder& GgufBuilder::set_i32s(std::string_view key, const std::vector<int32_t>& values) {
  ByteWriter writer;
  writer.number(number(GgufType::kI32));
  writer.number<uint64_t>(values.size());
  for (const int32_t value : values) writer.number(value);
  return set_raw(key, number(GgufType::kArray), writer.take());
}

GgufBuilder& GgufBuilder::set_f32s(std::string_view key, const std::vector<float>& values) {
  ByteWriter writer;
  writer.number(number(GgufType::kF32));
  writer.number<uint64_t>(values.size());
  for (const float value : values) writer.number(value);
  return set_raw(key, number(GgufType::kArray), writer.take());
}

GgufBuilder& GgufBuilder::remove(std::string_view key) {
  std::erase_if(keys_, [&](const Key& k) { return k.name == key; });
  return *this;
}

GgufBuilder& GgufBuilder::repeat(std::string_view key) {
  const auto it =
      std::find_if(keys_.begin(), keys_.end(), [&](const Key& k) { return k.name == key; });
  keys_.push_back(Key(*it));
  return *this;
}

GgufBuilder& GgufBuilder::add_tensor(GgufTensorSource tensor) {
  tensors_.push_back(std::move(tensor));
  return *this;
}

GgufBuilder& GgufBuilder::remove_tensor(std::string_view name) {
  std::erase_if(tensors_, [&](const GgufTensorSource& t) { return t.name == name; });
  return *this;
}

std::string GgufBuilder::header() const {
  ByteWriter out;
  out.text(magic);
  out.number(version);
  out.number<uint64_t>(claimed_tensors.value_or(tensors_.size()));
  out.number<uint64_t>(claimed_keys.value_or(keys_.size()));
  for (const Key& key : keys_) {
    out.sized_text(key.name);
    out.number(key.type);
    out.text(key.payload);
  }
  uint64_t end = 0;
  for (const GgufTensorSource& tensor : tensors_) {
    const uint64_t offset = tensor.offset.value_or((end + alignment - 1) / alignment * alignment);
    out.sized_text(tensor.name);
    out.number<uint32_t>(static_cast<uint32_t>(tensor.dims.size()));
    for (const uint64_t dim : tensor.dims) out.number(dim);
    out.number(tensor.type);
    out.number(offset);
    end = offset + data_of(tensor).size();
  }
  return out.take();
}

std::string GgufBuilder::build() const {
  std::string out = header();
  const auto pad = [&] { out.resize((out.size() + alignment - 1) / alignment * alignment); };
  for (const GgufTensorSource& tensor : tensors_) {
    pad();
    out += data_of(tensor);
  }
  return out + after_data;
}

GgufBuilder tiny_llama_gguf() {
  GgufBuilder b;
  b.set_string("general.architecture", "llama")
      .set_u32("llama.block_count", 2)
      .set_u32("llama.context_length", 64)
      .set_u32("llama.embedding_length", 8)
      .set_u32("llama.feed_forward_length", 16)
      .set_u32("llama.attention.head_count", 2)
      .set_u32("llama.attention.head_count_kv", 1)
      .set_f32("llama.attention.layer_norm_rms_epsilon", 1e-5f)
      .set_f32("llama.rope.freq_base", 500000.0f)
      .set_u32("llama.rope.dimension_count", 4)
      .set_u32("llama.vocab_size", 6)
      .set_string("tokenizer.ggml.model", "gpt2")
      .set_string("tokenizer.ggml.pre", "smollm")
      .set_strings("tokenizer.ggml.tokens", {"<|end|>", "a", "b", "c", "ab", "abc"})
      .set_i32s("tokenizer.ggml.token_type", {3, 1, 1, 1, 1, 1})
      .set_strings("tokenizer.ggml.merges", {"a b", "ab c"})
      .set_u32("tokenizer.ggml.bos_token_id", 0)
      .set_u32("tokenizer.ggml.eos_token_id", 0)
      .set_string("tokenizer.chat_template", "{{ messages[0].content }}");
  b.add_tensor({.name = "token_embd.weight", .dims = {8, 6}, .data = {}, .offset = {}});
  b.add_tensor({.name = "output_norm.weight", .dims = {8}, .data = {}, .offset = {}});
  for (const char* layer : {"blk.0.", "blk.1."}) {
    const auto add = [&](std::string_view name, std::vector<uint64_t> dims) {
      b.add_tensor(
          {.name = layer + std::string(name), .dims = std::move(dims), .data = {}, .offset = {}});
    };
    add("attn_norm.weight", {8});
    add("attn_q.weight", {8, 8});
    add("attn_k.weight", {8, 4});
    add("attn_v.weight", {8, 4});
    add("attn_output.weight", {8, 8});
    add("ffn_norm.weight", {8});
    add("ffn_gate.weight", {8, 16});
    add("ffn_up.weight", {8, 16});
    add("ffn_down.weight", {16, 8});
  }
  return b;
}

}  // namespace lockstep::formats
