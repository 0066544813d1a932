// The attention kernels that one instruction set provides, and the layout of K and V that they
// read. PODs and plain pointers only, as in linear_kernels.h.
//
// A *query* is one head of one row. The queries of a sequence that read one K/V head are numbered
// row by row, group_size of them a row; a *tile* is up to kTileQueries consecutive ones, which
// share every read of K and V. Tiles, workers and the split over chunks cannot change bits: a query
// goes through its own chunks in one order (docs/numerics.md, Attention).
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep::device::cpu {

inline constexpr int kPageKeys = 32;  // kPagePositions of base/state_layout.h
inline constexpr int kChunkKeys = 256;
inline constexpr int kTileQueries = 12;
inline constexpr int kKvTypes = 3;  // indexed by KvType

// Where one layer of a group keeps K and V: page p of K/V head h is at base + p * page_bytes +
// h * head_bytes, 64-byte aligned.
//   K         bf16: [k_head_size / 2][32 keys] words of two dimensions; else [k_head_size][32]
//   + v_bytes
//   V         bf16: [16][v_columns] words of two keys; else [32][v_columns]
struct KvPages {
  std::byte* base;
  ptrdiff_t page_bytes;
  ptrdiff_t head_bytes;
  ptrdiff_t v_bytes;
  int kv_heads;
  int k_head_size;
  int v_head_size;
  int v_columns;  // v_head_size rounded up to whole vectors; the rest is never looked at
};

// One layer's attention over consecutive rows of one sequence.
struct AttendJob {
  KvPages pages;
  const int32_t* page_table;
  int first_position;  // of row 0
  int rows;
  int window;  // positions that a row reads, its own included; 0: all
  int group_size;
  float scale;
  float soft_cap;  // 0: none
  const float* q;  // [rows][q_stride]: [heads][k_head_size]
  ptrdiff_t q_stride;
  float* out;  // [rows][out_stride]: [heads][v_head_size]
  ptrdiff_t out_stride;
};

struct AttendTile {
  const AttendJob* job;
  int kv_head;
  int first_query;
  int queries;  // at most kTileQueries
};

// What a query has of some of its keys, kPartialHead + v_columns floats: [0] the largest score, [1]
// the sum, from kPartialHead on the weighted values.
inline constexpr int kPartialHead = 16;

struct KvKernels {
  // Floats of scratch that a worker needs, 64-byte aligned.
  ptrdiff_t (*scratch_floats)(int k_head_size, int v_columns);
  // A tile over all its chunks, into job->out. REQUIRES a window that is 0 or positive, and a page
  // table that covers every position a row reads.
  void (*attend)(const AttendTile& tile, float* scratch);
  // A tile over one chunk, into partials [queries][kPartialHead + v_columns]. The partial of a
  // query that reads no key of the chunk is unspecified, and merge does not look at it.
  void (*attend_chunk)(const AttendTile& tile, int chunk, float* partials, float* scratch);
  // Merges `chunks` partials from `first_chunk` on, laid out as above, into job->out.
  void (*merge)(const AttendTile& tile, int first_chunk, int chunks, const float* partials,
                float* scratch);
  // Writes k [kv_heads][k_head_size] and v [kv_heads][v_head_size] of a position: slot `slot` of a
  // page.
  void (*append)(const KvPages& pages, int32_t page, int slot, const float* k, const float* v);
};

struct AttentionKernels {
  KvKernels kv[kKvTypes];
};

}  // namespace lockstep::device::cpu
