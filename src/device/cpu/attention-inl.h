// Attention of tiles of queries over paged K and V. The order of every sum: docs/numerics.md,
// Attention. What a tile does with one chunk of 256 keys:
//
//   scores   [query][key] = q x K: pages of K, lanes are keys
//   weigh    scale, soft cap, largest, exp, sum: a row of scores becomes a row of words
//   values   [query][column] = weights x V: pages of V, lanes are columns
//
// Both products are one microkernel, rows of words times rows of a page, each output a chain of its
// own. Scores of keys past a query's own are computed and dropped; values of such keys never enter
// a chain, so steps that not all queries of a tile share are done for each query alone.
#pragma once

#include "base/lane_math-inl.h"
#include "device/cpu/attention_kernels.h"
#include "device/cpu/kv_lanes-inl.h"
#include "device/cpu/lanes16-inl.h"

namespace lockstep::device::cpu {
namespace {

// Words from one query to the next, of packed queries as of scores.
constexpr int kRowWords = kChunkKeys;
constexpr int kTileWords = kTileQueries * kRowWords;

// ---- The microkernel

// out[r][c] (+)= sum over steps of words[r][step] x page[step][c]; `resume` continues the chains
// that out holds. noinline: inlined into its callers, g++ 12 spills the accumulators.
template <class Kv, int kRows, int kColumns>
[[gnu::noinline]] void multiply(const float* words, const typename Kv::Element* page,
                                ptrdiff_t page_stride, int steps, float* out, ptrdiff_t out_stride,
                                bool resume) {
  F acc[kRows][kColumns];
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kColumns; ++c) {
      acc[r][c] = resume ? Lanes::load(out + r * out_stride + c * Lanes::kLanes) : Lanes::zero();
    }
  }
  for (int s = 0; s < steps; ++s) {
    typename Kv::Stored b[kColumns];
    for (int c = 0; c < kColumns; ++c) b[c] = Kv::load(page + c * Lanes::kLanes * Kv::kPerStep);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const typename Kv::Word a = Kv::broadcast(words + r * kRowWords + s);
      for (int c = 0; c < kColumns; ++c) acc[r][c] = Kv::step(a, b[c], acc[r][c]);
    }
    page += page_stride;
  }
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kColumns; ++c) {
      Lanes::store(out + r * out_stride + c * Lanes::kLanes, acc[r][c]);
    }
  }
}

template <class Kv, int kColumns>
struct MultiplyTile {
  template <int kRows, class... Args>
  static void run(Args... args) {
    multiply<Kv, kRows, kColumns>(args...);
  }
};

// Any number of rows and of whole vectors of columns.
template <class Kv>
void multiply_page(const float* words, int rows, const typename Kv::Element* page,
                   ptrdiff_t page_stride, int steps, int columns, float* out, ptrdiff_t out_stride,
                   bool resume) {
  for (int r = 0; r < rows; r += kFloatTileRows) {
    const int count = rows - r < kFloatTileRows ? rows - r : kFloatTileRows;
    int c = 0;
    for (; c + 2 * Lanes::kLanes <= columns; c += 2 * Lanes::kLanes) {
      call_tile<MultiplyTile<Kv, 2>, kFloatTileRows>(count, words + r * kRowWords,
                                                     page + c * Kv::kPerStep, page_stride, steps,
                                                     out + r * out_stride + c, out_stride, resume);
    }
    for (; c < columns; c += Lanes::kLanes) {
      call_tile<MultiplyTile<Kv, 1>, kFloatTileRows>(count, words + r * kRowWords,
                                                     page + c * Kv::kPerStep, page_stride, steps,
                                                     out + r * out_stride + c, out_stride, resume);
    }
  }
}

// ---- A tile and its keys

constexpr ptrdiff_t partial_floats(int v_columns) { return kPartialHead + v_columns; }

// Keys of one chunk that a query reads, counted from the chunk's first. Empty: begin >= end.
struct KeyRange {
  int begin;
  int end;
  bool empty() const { return begin >= end; }
};

inline KeyRange positions_of(const AttendTile& tile, int query) {
  const int row = (tile.first_query + query) / tile.job->group_size;
  const int end = tile.job->first_position + row + 1;
  const int window = tile.job->window;
  return {window > 0 && window < end ? end - window : 0, end};
}

inline KeyRange keys_of(const AttendTile& tile, int query, int chunk) {
  const KeyRange positions = positions_of(tile, query);
  const int first = chunk * kChunkKeys;
  const int begin = positions.begin > first ? positions.begin - first : 0;
  const int end = positions.end - first < kChunkKeys ? positions.end - first : kChunkKeys;
  return {begin, end};
}

template <class Kv>
const typename Kv::Element* page_of(const AttendTile& tile, int index, ptrdiff_t offset) {
  const KvPages& pages = tile.job->pages;
  const ptrdiff_t page = tile.job->page_table[index];
  return reinterpret_cast<const typename Kv::Element*>(pages.base + page * pages.page_bytes +
                                                       tile.kv_head * pages.head_bytes + offset);
}

// Queries in panels of kRowWords words: [panel][query][kRowWords].
template <class Kv>
void pack_queries(const AttendTile& tile, float* packed) {
  constexpr int kPanelSize = kRowWords * Kv::kPerStep;
  const AttendJob& job = *tile.job;
  const int head_size = job.pages.k_head_size;
  for (int i = 0; i < tile.queries; ++i) {
    const int query = tile.first_query + i;
    const int head = tile.kv_head * job.group_size + query % job.group_size;
    const float* q = job.q + query / job.group_size * job.q_stride + head * head_size;
    for (int d = 0; d < head_size; d += Lanes::kLanes) {
      const int left = head_size - d;
      const F x = left < Lanes::kLanes ? Lanes::load_n(q + d, left) : Lanes::load(q + d);
      float* row = packed + d / kPanelSize * kTileWords + i * kRowWords;
      Kv::store_words(reinterpret_cast<typename Kv::WordPart*>(row) + d % kPanelSize, x);
    }
  }
}

// ---- One chunk

// Scores of all queries over the pages that hold keys [begin, end) of the chunk.
template <class Kv>
void score(const AttendTile& tile, int chunk, KeyRange keys, const float* queries, float* scores) {
  const int words = tile.job->pages.k_head_size / Kv::kPerStep;
  for (int k = keys.begin / kPageKeys * kPageKeys; k < keys.end; k += kPageKeys) {
    const auto* page = page_of<Kv>(tile, (chunk * kChunkKeys + k) / kPageKeys, 0);
    for (int w = 0; w < words; w += kRowWords) {
      const int steps = words - w < kRowWords ? words - w : kRowWords;
      multiply_page<Kv>(queries + w / kRowWords * kTileWords, tile.queries,
                        page + w * kPageKeys * Kv::kPerStep, kPageKeys * Kv::kPerStep, steps,
                        kPageKeys, scores + k, kRowWords, w > 0);
    }
  }
}

// One query's scores into weights, in place: words from key begin / 16 * 16 on, +0 for keys that
// the query does not read. Leaves the largest score and the sum in partial[0] and [1].
template <class Kv>
void weigh(const AttendJob& job, KeyRange keys, float* scores, float* partial) {
  const int first = keys.begin / 16 * 16;
  const int last = (keys.end + 15) / 16 * 16;
  const F scale = Lanes::set(job.scale);
  const F cap = Lanes::set(job.soft_cap);
  for (int k = first; k < last; k += Lanes::kLanes) {
    F s = Lanes::mul(Lanes::load(scores + k), scale);
    if (job.soft_cap != 0.0f) s = lane_soft_cap<Lanes>(s, cap);
    Lanes::store(scores + k, s);
  }
  constexpr float kNothing = -__builtin_inff();
  for (int k = first; k < keys.begin; ++k) scores[k] = kNothing;
  for (int k = keys.end; k < last; ++k) scores[k] = kNothing;

  F largest_lanes = Lanes::set(kNothing);
  for (int k = first; k < last; k += Lanes::kLanes) {
    largest_lanes = Lanes::max(largest_lanes, Lanes::load(scores + k));
  }
  float lane[Lanes::kLanes];
  Lanes::store(lane, largest_lanes);
  float largest = lane[0];
  for (int j = 1; j < Lanes::kLanes; ++j) largest = ScalarLane::max(largest, lane[j]);

  Lanes16 sum;
  auto* weights = reinterpret_cast<typename Kv::WordPart*>(scores);
  for (int k = first; k < last; k += 16) {
    for (int part = 0; part < Lanes16::kParts; ++part) {
      const int key = k + part * Lanes::kLanes;
      const F p = lane_exp<Lanes>(Lanes::sub(Lanes::load(scores + key), Lanes::set(largest)));
      sum.part[part] = Lanes::add(sum.part[part], p);
      Kv::store_words(weights + key, p);
    }
  }
  partial[0] = largest;
  partial[1] = sum.tree();
}

// Adds steps [begin, end) of the chunk's V to the values of `rows` queries.
template <class Kv>
void add_steps(const AttendTile& tile, int chunk, int begin, int end, const float* weights,
               int rows, float* values) {
  constexpr int kPageSteps = kPageKeys / Kv::kPerStep;
  const KvPages& pages = tile.job->pages;
  const ptrdiff_t stride = ptrdiff_t{pages.v_columns} * Kv::kPerStep;
  for (int s = begin; s < end;) {
    const int page = s / kPageSteps;
    const int stop = (page + 1) * kPageSteps < end ? (page + 1) * kPageSteps : end;
    const auto* v = page_of<Kv>(tile, chunk * (kChunkKeys / kPageKeys) + page, pages.v_bytes);
    multiply_page<Kv>(weights + s, rows, v + s % kPageSteps * stride, stride, stop - s,
                      pages.v_columns, values, partial_floats(pages.v_columns), true);
    s = stop;
  }
}

// Adds the step of a pair of which the query reads one key.
template <class Kv>
void add_half_step(const AttendTile& tile, int chunk, int step, int32_t keep, const float* weights,
                   float* values) {
  constexpr int kPageSteps = kPageKeys / Kv::kPerStep;
  const KvPages& pages = tile.job->pages;
  const auto* v =
      page_of<Kv>(tile, chunk * (kChunkKeys / kPageKeys) + step / kPageSteps, pages.v_bytes) +
      ptrdiff_t{step % kPageSteps} * pages.v_columns * Kv::kPerStep;
  const typename Kv::Word a = Kv::broadcast(weights + step);
  for (int c = 0; c < pages.v_columns; c += Lanes::kLanes) {
    const F acc = Lanes::load(values + c);
    Lanes::store(values + c, Kv::step(a, Kv::load_half(v + c * Kv::kPerStep, keep), acc));
  }
}

// Steps of a query whose keys it reads all of.
template <class Kv>
KeyRange whole_steps(KeyRange keys) {
  return {(keys.begin + Kv::kPerStep - 1) / Kv::kPerStep, keys.end / Kv::kPerStep};
}

// Weighted values of all queries: a query's own first steps, those that all share, its own last.
template <class Kv>
void sum_values(const AttendTile& tile, int chunk, const KeyRange* keys, const float* weights,
                float* partials) {
  const ptrdiff_t stride = partial_floats(tile.job->pages.v_columns);
  KeyRange shared = {0, kChunkKeys / Kv::kPerStep};
  for (int i = 0; i < tile.queries; ++i) {
    if (keys[i].empty()) continue;
    const KeyRange own = whole_steps<Kv>(keys[i]);
    if (own.begin > shared.begin) shared.begin = own.begin;
    if (own.end < shared.end) shared.end = own.end;
  }
  if (shared.empty()) shared = {kChunkKeys, kChunkKeys};  // all steps are first ones

  for (int i = 0; i < tile.queries; ++i) {
    float* values = partials + i * stride + kPartialHead;
    for (int c = 0; c < tile.job->pages.v_columns; ++c) values[c] = 0.0f;
    if (keys[i].empty()) continue;
    const KeyRange own = whole_steps<Kv>(keys[i]);
    const float* row = weights + i * kRowWords;
    if constexpr (Kv::kPerStep == 2) {
      if (keys[i].begin % 2 != 0) {
        add_half_step<Kv>(tile, chunk, keys[i].begin / 2, Kv::kOdd, row, values);
      }
    }
    add_steps<Kv>(tile, chunk, own.begin, own.end < shared.begin ? own.end : shared.begin, row, 1,
                  values);
  }
  add_steps<Kv>(tile, chunk, shared.begin, shared.end, weights, tile.queries,
                partials + kPartialHead);
  for (int i = 0; i < tile.queries; ++i) {
    if (keys[i].empty()) continue;
    float* values = partials + i * stride + kPartialHead;
    const KeyRange own = whole_steps<Kv>(keys[i]);
    const float* row = weights + i * kRowWords;
    add_steps<Kv>(tile, chunk, own.begin > shared.end ? own.begin : shared.end, own.end, row, 1,
                  values);
    if constexpr (Kv::kPerStep == 2) {
      if (keys[i].end % 2 != 0) {
        add_half_step<Kv>(tile, chunk, keys[i].end / 2, Kv::kEven, row, values);
      }
    }
  }
}

template <class Kv>
void attend_chunk(const AttendTile& tile, int chunk, const float* queries, float* scores,
                  float* partials) {
  const ptrdiff_t stride = partial_floats(tile.job->pages.v_columns);
  KeyRange keys[kTileQueries];
  KeyRange all = {kChunkKeys, 0};
  for (int i = 0; i < tile.queries; ++i) {
    keys[i] = keys_of(tile, i, chunk);
    if (keys[i].empty()) continue;
    if (keys[i].begin < all.begin) all.begin = keys[i].begin;
    if (keys[i].end > all.end) all.end = keys[i].end;
  }
  score<Kv>(tile, chunk, all, queries, scores);
  for (int i = 0; i < tile.queries; ++i) {
    if (keys[i].empty()) continue;
    weigh<Kv>(*tile.job, keys[i], scores + i * kRowWords, partials + i * stride);
  }
  sum_values<Kv>(tile, chunk, keys, scores, partials);
}

// ---- Chunks into results

inline void begin_states(const AttendTile& tile, float* states) {
  const ptrdiff_t stride = partial_floats(tile.job->pages.v_columns);
  for (int i = 0; i < tile.queries; ++i) {
    float* state = states + i * stride;
    for (ptrdiff_t j = 0; j < stride; ++j) state[j] = 0.0f;
    state[0] = -__builtin_inff();
  }
}

// A state is the partial of all chunks so far.
inline void merge_partial(const float* partial, int columns, float* state) {
  const float largest = ScalarLane::max(state[0], partial[0]);
  const float old_factor =
      state[0] == -__builtin_inff() ? 0.0f : lane_exp<ScalarLane>(state[0] - largest);
  const float factor = lane_exp<ScalarLane>(partial[0] - largest);
  state[1] = ScalarLane::fma(partial[1], factor, state[1] * old_factor);
  for (int c = kPartialHead; c < kPartialHead + columns; c += Lanes::kLanes) {
    const F old = Lanes::mul(Lanes::load(state + c), Lanes::set(old_factor));
    Lanes::store(state + c, Lanes::fma(Lanes::load(partial + c), Lanes::set(factor), old));
  }
  state[0] = largest;
}

inline void merge_chunk(const AttendTile& tile, int chunk, const float* partials, float* states) {
  const int columns = tile.job->pages.v_columns;
  const ptrdiff_t stride = partial_floats(columns);
  for (int i = 0; i < tile.queries; ++i) {
    if (keys_of(tile, i, chunk).empty()) continue;
    merge_partial(partials + i * stride, columns, states + i * stride);
  }
}

inline void write_results(const AttendTile& tile, const float* states) {
  const AttendJob& job = *tile.job;
  const int size = job.pages.v_head_size;
  for (int i = 0; i < tile.queries; ++i) {
    const int query = tile.first_query + i;
    const int head = tile.kv_head * job.group_size + query % job.group_size;
    const float* state = states + i * partial_floats(job.pages.v_columns);
    const F inverse = Lanes::set(1.0f / state[1]);
    float* out = job.out + query / job.group_size * job.out_stride + head * size;
    for (int d = 0; d < size; d += Lanes::kLanes) {
      const F x = Lanes::mul(Lanes::load(state + kPartialHead + d), inverse);
      const int left = size - d;
      left < Lanes::kLanes ? Lanes::store_n(out + d, x, left) : Lanes::store(out + d, x);
    }
  }
}

// ---- The table's entries. Scratch: packed queries, scores, the chunk's partials, the states.

struct AttendScratch {
  float* queries;
  float* scores;
  float* partials;
  float* states;

  AttendScratch(const KvPages& pages, float* scratch)
      : queries(scratch),
        scores(queries + query_floats(pages.k_head_size)),
        partials(scores + kTileWords),
        states(partials + kTileQueries * partial_floats(pages.v_columns)) {}

  static ptrdiff_t query_floats(int k_head_size) {
    return ptrdiff_t{(k_head_size + kRowWords - 1) / kRowWords} * kTileWords;
  }
  static ptrdiff_t floats(int k_head_size, int v_columns) {
    return query_floats(k_head_size) + kTileWords + 2 * kTileQueries * partial_floats(v_columns);
  }
};

template <class Kv>
void attend_tile(const AttendTile& tile, float* scratch) {
  const AttendScratch s(tile.job->pages, scratch);
  pack_queries<Kv>(tile, s.queries);
  begin_states(tile, s.states);
  const int first = positions_of(tile, 0).begin / kChunkKeys;
  const int last = (positions_of(tile, tile.queries - 1).end - 1) / kChunkKeys;
  for (int chunk = first; chunk <= last; ++chunk) {
    attend_chunk<Kv>(tile, chunk, s.queries, s.scores, s.partials);
    merge_chunk(tile, chunk, s.partials, s.states);
  }
  write_results(tile, s.states);
}

template <class Kv>
void attend_one_chunk(const AttendTile& tile, int chunk, float* partials, float* scratch) {
  const AttendScratch s(tile.job->pages, scratch);
  pack_queries<Kv>(tile, s.queries);
  attend_chunk<Kv>(tile, chunk, s.queries, s.scores, partials);
}

inline void merge_chunks(const AttendTile& tile, int first_chunk, int chunks, const float* partials,
                         float* scratch) {
  const AttendScratch s(tile.job->pages, scratch);
  begin_states(tile, s.states);
  const ptrdiff_t chunk_floats = tile.queries * partial_floats(tile.job->pages.v_columns);
  for (int i = 0; i < chunks; ++i) {
    merge_chunk(tile, first_chunk + i, partials + i * chunk_floats, s.states);
  }
  write_results(tile, s.states);
}

// An element of K or V at its place. K words run along the head, V words along positions.
template <class Kv>
void append_position(const KvPages& pages, int32_t page, int slot, const float* k, const float* v) {
  using Element = typename Kv::Element;
  constexpr int kStep = Kv::kPerStep;
  Element stored[Lanes::kLanes];
  for (int h = 0; h < pages.kv_heads; ++h) {
    std::byte* head = pages.base + page * pages.page_bytes + h * pages.head_bytes;
    Element* k_page = reinterpret_cast<Element*>(head) + slot * kStep;
    for (int d = 0; d < pages.k_head_size; d += Lanes::kLanes) {
      const int left =
          pages.k_head_size - d < Lanes::kLanes ? pages.k_head_size - d : Lanes::kLanes;
      Kv::store(stored, Lanes::load_n(k + d, left));
      for (int j = 0; j < left; ++j) {
        k_page[(d + j) / kStep * (kPageKeys * kStep) + (d + j) % kStep] = stored[j];
      }
    }
    Element* v_page = reinterpret_cast<Element*>(head + pages.v_bytes) +
                      slot / kStep * (pages.v_columns * kStep) + slot % kStep;
    for (int d = 0; d < pages.v_head_size; d += Lanes::kLanes) {
      const int left =
          pages.v_head_size - d < Lanes::kLanes ? pages.v_head_size - d : Lanes::kLanes;
      Kv::store(stored, Lanes::load_n(v + d, left));
      for (int j = 0; j < left; ++j) v_page[(d + j) * kStep] = stored[j];
    }
    k += pages.k_head_size;
    v += pages.v_head_size;
  }
}

template <class Kv>
constexpr KvKernels make_kv_kernels() {
  return {AttendScratch::floats, attend_tile<Kv>, attend_one_chunk<Kv>, merge_chunks,
          append_position<Kv>};
}

constexpr AttentionKernels make_attention_kernels() {
  return {{make_kv_kernels<F32Kv>(), make_kv_kernels<F16Kv>(), make_kv_kernels<BF16Kv>()}};
}

}  // namespace
}  // namespace lockstep::device::cpu
