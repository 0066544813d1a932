// Binds a checkpoint's tensors by name and shape: what a family asks for is there, has the shape
// that the config promises, and nothing in the file is left over.
//
// Thread rule: one thread, at load.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "device/device.h"
#include "formats/checkpoint.h"

namespace lockstep::model {

// One tensor in both spellings, without ".weight" and without what stands before the layer's own
// part.
struct TensorName {
  std::string_view hugging_face;
  std::string_view ggml;
};

// Names that every decoder here shares.
inline constexpr TensorName kEmbeddingName = {"embed_tokens", "token_embd"};
inline constexpr TensorName kFinalNormName = {"norm", "output_norm"};
inline constexpr TensorName kHeadName = {"lm_head", "output"};
inline constexpr TensorName kAttentionNormName = {"input_layernorm", "attn_norm"};
inline constexpr TensorName kQName = {"self_attn.q_proj", "attn_q"};
inline constexpr TensorName kKName = {"self_attn.k_proj", "attn_k"};
inline constexpr TensorName kVName = {"self_attn.v_proj", "attn_v"};
inline constexpr TensorName kOutputName = {"self_attn.o_proj", "attn_output"};
inline constexpr TensorName kGateName = {"mlp.gate_proj", "ffn_gate"};
inline constexpr TensorName kUpName = {"mlp.up_proj", "ffn_up"};
inline constexpr TensorName kDownName = {"mlp.down_proj", "ffn_down"};

inline constexpr int kNoLayer = -1;

struct Matrix {
  TensorName name;
  int64_t outputs = 0;
  int64_t inputs = 0;
  bool bias = false;
};

class WeightBinder {
 public:
  // Checkpoint and device are borrowed. `norm_offset` is added to every norm's weight, in f32.
  // not_found when there is no embedding table to tell the file's prefix by.
  static StatusOr<WeightBinder> create(const formats::Checkpoint& checkpoint,
                                       device::Device& device, float norm_offset);

  // One plan over matrices stacked along their outputs. Errors name the tensor, its shape and the
  // expected one. The mapped pages are given back once the device has its copy.
  StatusOr<std::unique_ptr<device::LinearPlan>> linear(int layer, std::span<const Matrix> stacked);
  StatusOr<std::unique_ptr<device::LinearPlan>> linear(int layer, const Matrix& matrix) {
    return linear(layer, std::span(&matrix, 1));
  }

  // A norm's weight as f32.
  StatusOr<std::unique_ptr<device::Vector>> norm(int layer, TensorName name, int64_t size);

  // A matrix that the program does not read; where the file has it, its shape must be right.
  Status leave_aside(const Matrix& matrix);

  // invalid_argument naming a tensor of the file that nothing asked for.
  Status finish() const;

  // Of the plans made for layers.
  int64_t layer_bytes() const { return layer_bytes_; }

 private:
  WeightBinder(const formats::Checkpoint& checkpoint, device::Device& device, float norm_offset,
               std::string prefix)
      : checkpoint_(&checkpoint),
        device_(&device),
        norm_offset_(norm_offset),
        prefix_(std::move(prefix)) {}

  std::string full_name(int layer, TensorName name, std::string_view suffix) const;
  StatusOr<TensorView> tensor(const std::string& name, const Shape& expected);

  const formats::Checkpoint* checkpoint_;
  device::Device* device_;
  float norm_offset_;
  int64_t layer_bytes_ = 0;
  std::string prefix_;  // Hugging Face files: what stands before "embed_tokens.weight"
  std::set<std::string, std::less<>> bound_;
};

}  // namespace lockstep::model
