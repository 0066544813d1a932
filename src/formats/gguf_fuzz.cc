#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "formats/chat_template_source.h"
#include "formats/gguf.h"
#include "formats/gguf_config.h"
#include "formats/gguf_tokenizer.h"
#include "formats/testing/gguf_builder.h"

namespace {

using namespace lockstep;
using namespace lockstep::formats;

void check(std::string_view bytes) {
  const auto file = as_bytes(bytes);
  const auto gguf = parse_gguf(file);
  if (!gguf.ok()) return;
  // Accepted tensors lie in the file, aligned as it says, and do not overlap.
  const std::byte* end = file.data();
  for (const NamedTensor& tensor : gguf->tensors.tensors()) {
    const auto part = tensor.view.bytes;
    if (part.data() < end || part.size() > file.size()) __builtin_trap();
    if (static_cast<uint64_t>(part.data() - file.data()) % gguf->alignment != 0) __builtin_trap();
    end = part.data() + part.size();
  }
  if (end > file.data() + file.size()) __builtin_trap();
  const auto config = config_from_gguf(*gguf);
  if (config.ok() && !check_model_config(*config).ok()) __builtin_trap();
  const auto spec = tokenizer_from_gguf(gguf->metadata);
  if (spec.ok() && spec->token_kinds.size() != spec->token_texts.size()) __builtin_trap();
  for (const TemplateUse use : {TemplateUse::kChat, TemplateUse::kTools}) {
    static_cast<void>(chat_template_from_gguf(gguf->metadata, use));
  }
}

// Keys that something reads; A stands for the architecture.
constexpr auto kKeys = std::to_array<std::string_view>({
    "general.architecture",
    "general.alignment",
    "A.block_count",
    "A.context_length",
    "A.embedding_length",
    "A.feed_forward_length",
    "A.attention.head_count",
    "A.attention.head_count_kv",
    "A.attention.key_length",
    "A.attention.value_length",
    "A.attention.layer_norm_rms_epsilon",
    "A.attention.sliding_window",
    "A.attention.sliding_window_pattern",
    "A.rope.dimension_count",
    "A.rope.freq_base",
    "A.rope.scaling.type",
    "A.rope.scaling.factor",
    "A.rope.scaling.original_context_length",
    "A.final_logit_softcapping",
    "A.attn_logit_softcapping",
    "A.vocab_size",
    "split.count",
    "tokenizer.ggml.model",
    "tokenizer.ggml.pre",
    "tokenizer.ggml.tokens",
    "tokenizer.ggml.scores",
    "tokenizer.ggml.token_type",
    "tokenizer.ggml.merges",
    "tokenizer.ggml.bos_token_id",
    "tokenizer.ggml.eos_token_id",
    "tokenizer.ggml.unknown_token_id",
    "tokenizer.ggml.add_bos_token",
    "tokenizer.ggml.add_space_prefix",
    "tokenizer.chat_template",
    "tokenizer.chat_template.tool_use",
});
constexpr auto kArchitectures =
    std::to_array<std::string_view>({"llama", "gemma3", "gemma2", "qwen2", "qwen3", "none"});
constexpr auto kTensors = std::to_array<std::string_view>(
    {"token_embd.weight", "output.weight", "output_norm.weight", "blk.0.attn_q.weight",
     "blk.1.ffn_down.weight", "rope_freqs.weight", "x"});

// A good file, changed by the input's instructions, so that changes reach past the container.
class Instructions {
 public:
  explicit Instructions(std::string_view input) : input_(as_bytes(input)) {}

  std::string file() {
    GgufBuilder builder = tiny_llama_gguf();
    architecture_ = pick(kArchitectures);
    while (input_.remaining() > 0) one(builder);
    return builder.build();
  }

 private:
  uint64_t number(int bytes) {
    uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) value = value << 8 | input_.u8().value_or(0);
    return value;
  }
  template <size_t kCount>
  std::string_view pick(const std::array<std::string_view, kCount>& from) {
    return from[number(1) % kCount];
  }
  std::string key() {
    const std::string_view name = pick(kKeys);
    if (!name.starts_with("A.")) return std::string(name);
    return std::string(architecture_) + std::string(name.substr(1));
  }
  std::string text() {
    const uint64_t size = std::min(number(1), input_.remaining());
    return std::string(input_.text(size).value_or(""));
  }

  void one(GgufBuilder& builder) {
    switch (number(1) % 12) {
      case 0:
        builder.set_string("general.architecture", architecture_);
        break;
      case 1:
        builder.set_u32(key(), static_cast<uint32_t>(number(2)));
        break;
      case 2:
        builder.set_u64(key(), number(8));
        break;
      case 3:
        builder.set_f32(key(), static_cast<float>(static_cast<int16_t>(number(2))) / 64);
        break;
      case 4:
        builder.set_string(key(), text());
        break;
      case 5: {
        std::vector<std::string> values;
        for (uint64_t n = number(1) % 16; n > 0; --n) values.push_back(text());
        builder.set_strings(key(), values);
        break;
      }
      case 6: {
        std::vector<int32_t> values;
        for (uint64_t n = number(1) % 16; n > 0; --n) {
          values.push_back(static_cast<int8_t>(number(1)));
        }
        builder.set_i32s(key(), values);
        break;
      }
      case 7:
        builder.remove(key());
        break;
      case 8:
        builder.set_raw(key(), static_cast<uint32_t>(number(1)), text());
        break;
      case 9:
        builder.set_bool(key(), number(1) != 0);
        break;
      case 10:
        builder.remove_tensor(pick(kTensors));
        break;
      default: {
        GgufTensorSource tensor{
            .name = std::string(pick(kTensors)), .dims = {}, .data = {}, .offset = {}};
        for (uint64_t n = number(1) % 5; n > 0; --n) tensor.dims.push_back(number(1) % 33);
        tensor.type = static_cast<uint32_t>(number(1) % 42);
        tensor.data = text();
        builder.add_tensor(std::move(tensor));
      }
    }
  }

  ByteReader input_;
  std::string_view architecture_;
};

}  // namespace

// A file, or instructions that make one.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  check(input.starts_with("GG") ? std::string(input) : Instructions(input).file());
  return 0;
}
