// The product that both halves of attention are: rows of words times rows of a page, each output a
// chain of its own.
#pragma once

#include "device/cpu/attention_kernels.h"
#include "device/cpu/kv_lanes-inl.h"

namespace lockstep::device::cpu {
namespace {

// Words from one query to the next, of packed queries as of scores.
constexpr int kRowWords = kChunkKeys;

// Consecutive rows of one page, a step each.
template <class Kv>
struct PageRun {
  const typename Kv::Element* rows;
  int steps;
  const typename Kv::Element* next;  // what is read after it
};
constexpr int kMaxRuns = kChunkKeys / kPageKeys;

// out[r][c] (+)= sum over the runs' steps of words[r][step] x rows[step][c].
template <class Kv>
struct Product {
  const float* words;  // [r][kRowWords]
  const PageRun<Kv>* runs;
  int run_count;
  ptrdiff_t row_stride;  // of the runs, in elements
  float* out;
  ptrdiff_t out_stride;
  bool resume;  // goes on with the chains that out holds, else from +0
};

// A run is a stream from memory when few rows share it, and what comes after it lies elsewhere,
// where the hardware does not look ahead: without these hints a decode step gets half the speed. To
// the second level, which can wait for more lines at once than the first.
inline void prefetch_stream(const void* p) {
#if defined(__AVX2__)
  _mm_prefetch(p, _MM_HINT_T1);
#else
  static_cast<void>(p);
#endif
}

// noinline: inlined into its callers, g++ 12 spills the accumulators.
template <class Kv, int kRows, int kColumns>
[[gnu::noinline]] void multiply_columns(const Product<Kv>& product, int column) {
  constexpr size_t kStepBytes =
      sizeof(typename Kv::Element) * Kv::kPerStep * kColumns * Lanes::kLanes;
  float* out = product.out + column;
  F acc[kRows][kColumns];
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kColumns; ++c) {
      const float* from = out + r * product.out_stride + c * Lanes::kLanes;
      acc[r][c] = product.resume ? Lanes::load(from) : Lanes::zero();
    }
  }
  const float* words = product.words;
  const ptrdiff_t stride = product.row_stride;
  for (int i = 0; i < product.run_count; ++i) {
    const PageRun<Kv>& run = product.runs[i];
    const auto* row = run.rows + column * Kv::kPerStep;
    const auto* next = run.next + column * Kv::kPerStep;
    for (const float* end = words + run.steps; words != end; ++words) {
      for (size_t line = 0; line < kStepBytes; line += 64) {
        prefetch_stream(reinterpret_cast<const std::byte*>(next) + line);
      }
      typename Kv::Stored b[kColumns];
      for (int c = 0; c < kColumns; ++c) b[c] = Kv::load(row + c * Lanes::kLanes * Kv::kPerStep);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const typename Kv::Word a = Kv::broadcast(words + r * kRowWords);
        for (int c = 0; c < kColumns; ++c) acc[r][c] = Kv::step(a, b[c], acc[r][c]);
      }
      row += stride;
      next += stride;
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kColumns; ++c) {
      Lanes::store(out + r * product.out_stride + c * Lanes::kLanes, acc[r][c]);
    }
  }
}

template <class Kv, int kColumns>
struct MultiplyColumns {
  template <int kRows>
  static void run(const Product<Kv>* product, int column) {
    multiply_columns<Kv, kRows, kColumns>(*product, column);
  }
};

// Any number of rows, and of columns that are whole vectors.
template <class Kv>
void multiply(Product<Kv> product, int rows, int columns) {
  for (int r = 0; r < rows; r += kFloatTileRows) {
    const int count = rows - r < kFloatTileRows ? rows - r : kFloatTileRows;
    int c = 0;
    for (; c + 2 * Lanes::kLanes <= columns; c += 2 * Lanes::kLanes) {
      call_tile<MultiplyColumns<Kv, 2>, kFloatTileRows>(count, &product, c);
    }
    for (; c < columns; c += Lanes::kLanes) {
      call_tile<MultiplyColumns<Kv, 1>, kFloatTileRows>(count, &product, c);
    }
    product.words += kFloatTileRows * kRowWords;
    product.out += kFloatTileRows * product.out_stride;
  }
}

}  // namespace
}  // namespace lockstep::device::cpu
