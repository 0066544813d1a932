// Attention of tiles of queries over paged K and V. The order of every sum: docs/numerics.md,
// Attention. What a tile does with one chunk of 256 keys:
//
//   score    scores [query][key] = queries x K, a page at a time; lanes are keys
//   weigh    scale, soft cap, largest, exp, sum: a row of scores becomes a row of weights
//   sum      values [query][column] = weights x V over the chunk's pages; lanes are columns
//
// Scores of keys past a query's own are computed and dropped. Values of such keys never enter a
// chain, so steps that not all queries of a tile share are done for each query alone.
#pragma once

#include "base/lane_math-inl.h"
#include "device/cpu/attention_product-inl.h"
#include "device/cpu/lanes16-inl.h"

namespace lockstep::device::cpu {
namespace {

constexpr int kTileWords = kTileQueries * kRowWords;
constexpr int kChunkPages = kChunkKeys / kPageKeys;
constexpr float kMinusInfinity = -__builtin_inff();

constexpr ptrdiff_t partial_floats(int v_columns) { return kPartialHead + v_columns; }

// Half open. Empty: begin >= end.
struct Range {
  int begin;
  int end;
  bool empty() const { return begin >= end; }
};
inline int smaller(int a, int b) { return a < b ? a : b; }
inline int larger(int a, int b) { return a > b ? a : b; }

// ---- One query's scores

// Scales [first, last), caps it, and gives the largest score of `keys`; the others become
// -infinity, whose weight is +0.
inline float scale_scores(const AttendJob& job, Range keys, int first, int last, float* scores) {
  const F scale = Lanes::set(job.scale);
  const F cap = Lanes::set(job.soft_cap);
  for (int k = first; k < last; k += Lanes::kLanes) {
    F s = Lanes::mul(Lanes::load(scores + k), scale);
    if (job.soft_cap != 0.0f) s = lane_soft_cap<Lanes>(s, cap);
    Lanes::store(scores + k, s);
  }
  for (int k = first; k < keys.begin; ++k) scores[k] = kMinusInfinity;
  for (int k = keys.end; k < last; ++k) scores[k] = kMinusInfinity;

  F largest = Lanes::set(kMinusInfinity);
  for (int k = first; k < last; k += Lanes::kLanes) {
    largest = Lanes::max(largest, Lanes::load(scores + k));
  }
  return largest_lane(largest);
}

// exp(score - largest) of [first, last) as words, in place; their sum in 16 lanes by key.
template <class Kv>
float exponentiate(int first, int last, float largest, float* scores) {
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
  return sum.tree();
}

// ---- A tile

// Of `scratch`: packed queries, scores, one chunk's partials, the states (partials of all chunks so
// far).
template <class Kv>
class TileWork {
 public:
  static ptrdiff_t scratch_floats(int k_head_size, int v_columns) {
    return query_floats(k_head_size) + kTileWords + 2 * kTileQueries * partial_floats(v_columns);
  }

  TileWork(const AttendTile& tile, float* scratch)
      : tile_(tile),
        job_(*tile.job),
        pages_(tile.job->pages),
        partial_floats_(partial_floats(pages_.v_columns)),
        queries_(scratch),
        scores_(queries_ + query_floats(pages_.k_head_size)),
        chunk_partials_(scores_ + kTileWords),
        states_(chunk_partials_ + kTileQueries * partial_floats_) {
    int row = tile.first_query / job_.group_size;
    int head = tile.first_query % job_.group_size;
    for (int i = 0; i < tile.queries; ++i) {
      const int end = job_.first_position + row + 1;
      positions_[i] = {job_.window > 0 ? larger(0, end - job_.window) : 0, end};
      rows_[i] = row;
      heads_[i] = tile.kv_head * job_.group_size + head;
      if (++head == job_.group_size) {
        head = 0;
        ++row;
      }
    }
  }

  void attend() {
    pack_queries();
    begin_states();
    const int last = (positions_[tile_.queries - 1].end - 1) / kChunkKeys;
    for (int chunk = positions_[0].begin / kChunkKeys; chunk <= last; ++chunk) {
      attend_chunk(chunk, chunk_partials_);
      merge_chunk(chunk, chunk_partials_);
    }
    write_results();
  }

  // Queries in panels of kRowWords words: [panel][query][kRowWords].
  void pack_queries() {
    constexpr int kPanelSize = kRowWords * Kv::kPerStep;
    const int size = pages_.k_head_size;
    for (int i = 0; i < tile_.queries; ++i) {
      const float* q = job_.q + rows_[i] * job_.q_stride + heads_[i] * size;
      for (int d = 0; d < size; d += Lanes::kLanes) {
        const int left = size - d;
        const F x = left < Lanes::kLanes ? Lanes::load_n(q + d, left) : Lanes::load(q + d);
        float* row = queries_ + d / kPanelSize * kTileWords + i * kRowWords;
        Kv::store_words(reinterpret_cast<typename Kv::WordPart*>(row) + d % kPanelSize, x);
      }
    }
  }

  void attend_chunk(int chunk, float* partials) {
    Range all = {kChunkKeys, 0};
    for (int i = 0; i < tile_.queries; ++i) {
      keys_[i] = keys_of(i, chunk);
      if (keys_[i].empty()) continue;
      all.begin = smaller(all.begin, keys_[i].begin);
      all.end = larger(all.end, keys_[i].end);
    }
    score(chunk, all);
    weigh(partials);
    sum_values(chunk, partials);
  }

  void begin_states() {
    for (int i = 0; i < tile_.queries; ++i) {
      clear(states_ + i * partial_floats_, partial_floats_);
      states_[i * partial_floats_] = kMinusInfinity;
    }
  }

  void merge_chunk(int chunk, const float* partials) {
    for (int i = 0; i < tile_.queries; ++i) {
      if (keys_of(i, chunk).empty()) continue;
      merge_partial(partials + i * partial_floats_, states_ + i * partial_floats_);
    }
  }

  void write_results() const {
    const int size = pages_.v_head_size;
    for (int i = 0; i < tile_.queries; ++i) {
      const float* state = states_ + i * partial_floats_;
      const F inverse = Lanes::set(1.0f / state[1]);
      float* out = job_.out + rows_[i] * job_.out_stride + heads_[i] * size;
      for (int d = 0; d < size; d += Lanes::kLanes) {
        const F x = Lanes::mul(Lanes::load(state + kPartialHead + d), inverse);
        const int left = size - d;
        left < Lanes::kLanes ? Lanes::store_n(out + d, x, left) : Lanes::store(out + d, x);
      }
    }
  }

 private:
  using Element = typename Kv::Element;
  static constexpr int kPageSteps = kPageKeys / Kv::kPerStep;
  static constexpr int kChunkSteps = kChunkKeys / Kv::kPerStep;

  static ptrdiff_t query_floats(int k_head_size) {
    return ptrdiff_t{(k_head_size + kRowWords - 1) / kRowWords} * kTileWords;
  }
  static void clear(float* p, ptrdiff_t floats) {
    for (ptrdiff_t i = 0; i < floats; ++i) p[i] = 0.0f;
  }

  // Keys of a chunk that a query reads, counted from the chunk's first.
  Range keys_of(int query, int chunk) const {
    const int first = chunk * kChunkKeys;
    return {larger(positions_[query].begin - first, 0),
            smaller(positions_[query].end - first, kChunkKeys)};
  }

  // Of the page with positions [32 index, 32 index + 32).
  const Element* keys_page(int index) const {
    return reinterpret_cast<const Element*>(pages_.base + tile_.kv_head * pages_.head_bytes +
                                            job_.page_table[index] * pages_.page_bytes);
  }
  const Element* values_page(int index) const {
    return reinterpret_cast<const Element*>(pages_.base + tile_.kv_head * pages_.head_bytes +
                                            job_.page_table[index] * pages_.page_bytes +
                                            pages_.v_bytes);
  }

  // Scores of all queries over the pages that hold `keys`.
  void score(int chunk, Range keys) {
    const int words = pages_.k_head_size / Kv::kPerStep;
    const int first = keys.begin / kPageKeys;
    const int last = (keys.end - 1) / kPageKeys;
    for (int p = first; p <= last; ++p) {
      const int index = chunk * kChunkPages + p;
      const Element* next =
          p < last ? keys_page(index + 1) : values_page(chunk * kChunkPages + first);
      for (int w = 0; w < words; w += kRowWords) {
        const ptrdiff_t offset = ptrdiff_t{w} * kPageKeys * Kv::kPerStep;
        const PageRun<Kv> run = {keys_page(index) + offset, smaller(words - w, kRowWords),
                                 next + offset};
        multiply<Kv>({.words = queries_ + w / kRowWords * kTileWords,
                      .runs = &run,
                      .run_count = 1,
                      .row_stride = kPageKeys * Kv::kPerStep,
                      .out = scores_ + p * kPageKeys,
                      .out_stride = kRowWords,
                      .resume = w > 0},
                     tile_.queries, kPageKeys);
      }
    }
  }

  // Scores into weights, whole groups of 16 keys around a query's own. Two loops, so that the
  // queries' chains of dependent operations overlap.
  void weigh(float* partials) {
    for (int i = 0; i < tile_.queries; ++i) {
      if (keys_[i].empty()) continue;
      const Range all = groups_around(keys_[i]);
      partials[i * partial_floats_] =
          scale_scores(job_, keys_[i], all.begin, all.end, scores_ + i * kRowWords);
    }
    for (int i = 0; i < tile_.queries; ++i) {
      if (keys_[i].empty()) continue;
      const Range all = groups_around(keys_[i]);
      float* partial = partials + i * partial_floats_;
      partial[1] = exponentiate<Kv>(all.begin, all.end, partial[0], scores_ + i * kRowWords);
    }
  }
  static Range groups_around(Range keys) {
    return {keys.begin / 16 * 16, (keys.end + 15) / 16 * 16};
  }

  // Steps of which a query reads all keys.
  static Range whole_steps(Range keys) {
    return {(keys.begin + Kv::kPerStep - 1) / Kv::kPerStep, keys.end / Kv::kPerStep};
  }

  // Weighted values of all queries: a query's own first steps, those that all share, its own last.
  void sum_values(int chunk, float* partials) {
    Range shared = {0, kChunkSteps};
    for (int i = 0; i < tile_.queries; ++i) {
      if (keys_[i].empty()) continue;
      shared.begin = larger(shared.begin, whole_steps(keys_[i]).begin);
      shared.end = smaller(shared.end, whole_steps(keys_[i]).end);
    }
    if (shared.empty()) shared = {kChunkSteps, kChunkSteps};  // all steps are a query's own first

    for (int i = 0; i < tile_.queries; ++i) {
      float* values = partials + i * partial_floats_ + kPartialHead;
      clear(values, pages_.v_columns);
      if (keys_[i].empty()) continue;
      const Range own = whole_steps(keys_[i]);
      if (keys_[i].begin % Kv::kPerStep != 0) add_half_step(chunk, i, own.begin - 1, values);
      add_steps(chunk, {own.begin, smaller(own.end, shared.begin)}, i, 1, values);
    }
    add_steps(chunk, shared, 0, tile_.queries, partials + kPartialHead);
    for (int i = 0; i < tile_.queries; ++i) {
      if (keys_[i].empty()) continue;
      float* values = partials + i * partial_floats_ + kPartialHead;
      const Range own = whole_steps(keys_[i]);
      add_steps(chunk, {larger(own.begin, shared.end), own.end}, i, 1, values);
      if (keys_[i].end % Kv::kPerStep != 0) add_half_step(chunk, i, own.end, values);
    }
  }

  // Adds steps of the chunk to the values of consecutive queries.
  void add_steps(int chunk, Range steps, int first_query, int queries, float* values) {
    if (steps.empty()) return;
    const ptrdiff_t stride = ptrdiff_t{pages_.v_columns} * Kv::kPerStep;
    const int last_index = (job_.first_position + job_.rows - 1) / kPageKeys;
    PageRun<Kv> runs[kMaxRuns];
    int count = 0;
    for (int s = steps.begin; s < steps.end; ++count) {
      const int page = s / kPageSteps;
      const int index = chunk * kChunkPages + page;
      const int stop = smaller((page + 1) * kPageSteps, steps.end);
      const Element* next = stop < steps.end     ? values_page(index + 1)
                            : index < last_index ? keys_page(index + 1)
                                                 : values_page(index);
      runs[count] = {values_page(index) + s % kPageSteps * stride, stop - s, next};
      s = stop;
    }
    multiply<Kv>({.words = scores_ + first_query * kRowWords + steps.begin,
                  .runs = runs,
                  .run_count = count,
                  .row_stride = stride,
                  .out = values,
                  .out_stride = partial_floats_,
                  .resume = true},
                 queries, pages_.v_columns);
  }

  // Adds a step of which a query reads one key: +0 x +0 stands for the other.
  void add_half_step(int chunk, int query, int step, float* values) {
    if constexpr (Kv::kPerStep == 2) {
      const bool even = 2 * step >= keys_[query].begin;
      const Element* row = values_page(chunk * kChunkPages + step / kPageSteps) +
                           ptrdiff_t{step % kPageSteps} * pages_.v_columns * Kv::kPerStep;
      const typename Kv::Word a = Kv::broadcast(scores_ + query * kRowWords + step);
      for (int c = 0; c < pages_.v_columns; c += Lanes::kLanes) {
        const auto b = Kv::load_half(row + c * Kv::kPerStep, even ? Kv::kEven : Kv::kOdd);
        Lanes::store(values + c, Kv::step(a, b, Lanes::load(values + c)));
      }
    }
  }

  void merge_partial(const float* partial, float* state) const {
    const float largest = ScalarLane::max(state[0], partial[0]);
    const float old_factor =
        state[0] == kMinusInfinity ? 0.0f : lane_exp<ScalarLane>(state[0] - largest);
    const float factor = lane_exp<ScalarLane>(partial[0] - largest);
    state[0] = largest;
    state[1] = ScalarLane::fma(partial[1], factor, state[1] * old_factor);
    for (int c = kPartialHead; c < kPartialHead + pages_.v_columns; c += Lanes::kLanes) {
      const F old = Lanes::mul(Lanes::load(state + c), Lanes::set(old_factor));
      Lanes::store(state + c, Lanes::fma(Lanes::load(partial + c), Lanes::set(factor), old));
    }
  }

  const AttendTile& tile_;
  const AttendJob& job_;
  const KvPages& pages_;
  const ptrdiff_t partial_floats_;
  float* const queries_;
  float* const scores_;
  float* const chunk_partials_;
  float* const states_;
  Range positions_[kTileQueries] = {};  // that each query reads
  Range keys_[kTileQueries] = {};       // of the chunk at hand
  int rows_[kTileQueries];
  int heads_[kTileQueries];
};

// ---- The table's entries

template <class Kv>
void attend_tile(const AttendTile& tile, float* scratch) {
  TileWork<Kv>(tile, scratch).attend();
}

template <class Kv>
void attend_one_chunk(const AttendTile& tile, int chunk, float* partials, float* scratch) {
  TileWork<Kv> work(tile, scratch);
  work.pack_queries();
  work.attend_chunk(chunk, partials);
}

template <class Kv>
void merge_chunks(const AttendTile& tile, int first_chunk, int chunks, const float* partials,
                  float* scratch) {
  TileWork<Kv> work(tile, scratch);
  work.begin_states();
  const ptrdiff_t chunk_floats = tile.queries * partial_floats(tile.job->pages.v_columns);
  for (int i = 0; i < chunks; ++i) {
    work.merge_chunk(first_chunk + i, partials + i * chunk_floats);
  }
  work.write_results();
}

// One head of one position to its places: groups of kGroup elements side by side, `stride` apart.
template <class Kv, int kGroup>
void scatter(const float* x, int size, typename Kv::Element* to, ptrdiff_t stride) {
  typename Kv::Element stored[Lanes::kLanes];
  for (int d = 0; d < size; d += Lanes::kLanes) {
    const int left = smaller(size - d, Lanes::kLanes);
    Kv::store(stored, Lanes::load_n(x + d, left));
    for (int j = 0; j < left; ++j) to[(d + j) / kGroup * stride + (d + j) % kGroup] = stored[j];
  }
}

template <class Kv>
void append_position(const KvPages& pages, int32_t page, int slot, const float* k, const float* v) {
  using Element = typename Kv::Element;
  constexpr int kStep = Kv::kPerStep;
  std::byte* head = pages.base + page * pages.page_bytes;
  for (int h = 0; h < pages.kv_heads; ++h, head += pages.head_bytes) {
    Element* keys = reinterpret_cast<Element*>(head) + slot * kStep;
    Element* values = reinterpret_cast<Element*>(head + pages.v_bytes) +
                      slot / kStep * ptrdiff_t{pages.v_columns} * kStep + slot % kStep;
    scatter<Kv, kStep>(k + h * pages.k_head_size, pages.k_head_size, keys, kPageKeys * kStep);
    scatter<Kv, 1>(v + h * pages.v_head_size, pages.v_head_size, values, kStep);
  }
}

template <class Kv>
constexpr KvKernels make_kv_kernels() {
  return {TileWork<Kv>::scratch_floats, attend_tile<Kv>, attend_one_chunk<Kv>, merge_chunks<Kv>,
          append_position<Kv>};
}

constexpr AttentionKernels make_attention_kernels() {
  return {{make_kv_kernels<F32Kv>(), make_kv_kernels<F16Kv>(), make_kv_kernels<BF16Kv>()}};
}

}  // namespace
}  // namespace lockstep::device::cpu
