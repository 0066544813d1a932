// The geometry of a checkpoint: one validated value from config.json or from GGUF metadata.
// Families read it; nothing else parses either format.
//
// A ModelConfig in hand has passed every check: sizes in [1, cap], heads dividing, layer lists of
// the right length. Makers: parse_config_json (config_json.h) and config_from_gguf (gguf_config.h).
// Token ids are as the file says: they become TokenIds, or are refused, where they are admitted.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/status.h"

namespace lockstep::formats {

struct RopeLinear {
  double factor = 1.0;
};
struct RopeLlama3 {
  double factor = 1.0;
  double low_freq_factor = 1.0;
  double high_freq_factor = 4.0;
  int64_t original_max_positions = 0;
};
// GGUF stores llama3 scaling as one divisor a frequency (rope_freqs.weight): the model binds it.
struct RopeFactors {
  std::vector<float> divisors;  // rotary / 2
};
// YaRN (https://arxiv.org/abs/2309.00071): pairs that turn at least beta_fast times within the
// original context keep their frequency, those that turn at most beta_slow times divide it by
// `factor`, and between the two it is blended.
struct RopeYarn {
  double factor = 1.0;
  double beta_fast = 32.0;
  double beta_slow = 1.0;
  double attention_factor = 1.0;  // on cos and sin
  int64_t original_max_positions = 0;
  bool truncate = true;  // the blend starts and ends at whole pairs
};
// What YaRN multiplies cos and sin by where no file says otherwise: 1 + 0.1 weight ln(factor).
double yarn_attention_factor(double factor, double weight = 1.0);

using RopeScaling = std::variant<std::monostate, RopeLinear, RopeLlama3, RopeFactors, RopeYarn>;

struct RopeConfig {
  double theta = 10000.0;
  RopeScaling scaling;
};

enum class LayerKind : uint8_t { kFull, kSliding };
enum class HiddenActivation : uint8_t { kSilu, kGeluTanh };
enum class WeightLayout : uint8_t {
  kHuggingFace,
  kGguf,  // ggml's tensor names; gemma norms hold 1 + w
};

struct ModelConfig {
  std::string family;  // "llama", "qwen3": the registry's key, not the file's spelling
  WeightLayout layout = WeightLayout::kHuggingFace;
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_size = 0;
  int64_t intermediate_size = 0;
  int64_t max_positions = 0;
  double rms_eps = 1e-6;
  HiddenActivation activation = HiddenActivation::kSilu;
  bool tied_embeddings = false;
  bool qkv_bias = false;
  bool attention_output_bias = false;
  bool mlp_bias = false;
  bool qk_norm = false;  // RMS norm of every head of q and k
  RopeConfig rope;
  RopeConfig rope_local;               // of sliding layers: `rope` again but where a file has two
  int64_t rotary_size = 0;             // dimensions of a head that are rotated; even
  bool rotary_interleaved = false;     // pairs (2i, 2i + 1); else (i, i + rotary_size / 2)
  std::vector<LayerKind> layer_kinds;  // one a layer
  int64_t sliding_window = 0;          // positions; 0: none
  double query_scale_size = 0;         // attention scale = 1 / sqrt(this); head_size by default
  double attention_soft_cap = 0;       // 0: none
  double final_soft_cap = 0;           // 0: none
  std::vector<int64_t> eos_ids;
  int64_t bos_id = -1;  // -1: none
};

// Caps of every size, whatever a file says; the largest published models are well inside.
inline constexpr int64_t kMaxLayers = 1024;
inline constexpr int64_t kMaxHiddenSize = 1 << 17;
inline constexpr int64_t kMaxIntermediateSize = 1 << 20;
inline constexpr int64_t kMaxHeads = 1024;
inline constexpr int64_t kMaxHeadSize = 1024;
inline constexpr int64_t kMaxPositions = 1 << 27;
inline constexpr double kMaxRopeTheta = 1e15;
inline constexpr double kMaxRopeFactor = 1e6;  // of every rope scaling
inline constexpr double kMaxSoftCap = 1e6;
inline constexpr double kMinQueryScaleSize = 1e-6;
inline constexpr double kMaxQueryScaleSize = 1e6;

// The rules that hold between the fields and the caps on each, in one place for both makers.
// invalid_argument naming the sizes at fault.
Status check_model_config(const ModelConfig& config);

// One line of JSON over all fields: sorted keys, numbers in their shortest exact spelling. The
// divisors of RopeFactors are a tensor of the file and so are left to its digest.
std::string canonical_json(const ModelConfig& config);

}  // namespace lockstep::formats
