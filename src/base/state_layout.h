// What a model asks a pool to hold for each sequence: declared by a model, allocated by a device,
// accounted for by kv/. Nothing else knows families.
//
// Layers with the same kind and geometry form a group and share one page table: page id p of a
// group names positions [32 i, 32 i + 32) of K and V of every layer of that group.
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep {

// Positions a page. Attention's chunks are whole pages.
inline constexpr int kPagePositions = 32;

// A closed list; a new kind brings its layout, trim, prefix and wire rules with it.
enum class StateKind : uint8_t {
  kFull,    // every position is kept
  kWindow,  // position t reads (t - window, t]; pages wholly behind every future window may be
            // freed
};

struct LayerGroup {
  StateKind kind = StateKind::kFull;
  int window = 0;  // positions, kWindow only
  int layers = 0;
  int kv_heads = 0;
  int k_head_size = 0;
  int v_head_size = 0;
};

// Where one layer of the model keeps its state.
struct StateLayer {
  int group = 0;
  int index = 0;  // within the group, 0 <= index < layers
};

struct StateLayout {
  std::vector<LayerGroup> groups;
  std::vector<StateLayer> layers;  // one a model layer, in model order
};

// A page of one group. Made by a page pool, which owns the range.
struct PageId {
  int32_t value = -1;
  friend bool operator==(PageId a, PageId b) = default;
};

// The first `positions` of one page, in every layer of the group; those behind are not defined.
struct PageCopy {
  int group = 0;
  PageId from;
  PageId to;
  int positions = 0;
};

}  // namespace lockstep
