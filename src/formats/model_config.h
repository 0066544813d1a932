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
using RopeScaling = std::variant<std::monostate, RopeLinear, RopeLlama3, RopeFactors>;

struct RopeConfig {
  double theta = 10000.0;
  RopeScaling scaling;
};

enum class LayerKind : uint8_t { kFull, kSliding };
enum class HiddenActivation : uint8_t { kSilu, kGeluTanh };
enum class WeightLayout : uint8_t {
  kHuggingFace,  // q and k rows in half-split rope order
  kGguf,  // ggml's tensor names; q and k of arch llama in interleaved order; gemma norms hold 1+w
};

struct ModelConfig {
  std::string family;  // "llama", "gemma3": the registry's key, not the file's spelling
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
  bool attention_bias = false;
  bool mlp_bias = false;
  RopeConfig rope;
  RopeConfig rope_local;               // sliding layers, where the family has a second base
  int64_t rotary_size = 0;             // dimensions of a head that are rotated; even
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

// The rules that hold between the fields and the caps on each, in one place for both makers.
// invalid_argument naming the sizes at fault.
Status check_model_config(const ModelConfig& config);

// One line of JSON over all fields: sorted keys, numbers in their shortest exact spelling. The
// divisors of RopeFactors are a tensor of the file and so are left to its digest.
std::string canonical_json(const ModelConfig& config);

}  // namespace lockstep::formats
