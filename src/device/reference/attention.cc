#include "device/reference/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/float16.h"
#include "base/math.h"
#include "device/reference/chains.h"

namespace lockstep::device::reference {
namespace {

constexpr int kChunkPositions = 256;
constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// Positions [begin, end) of one chunk that the row reads, and what they give.
struct Chunk {
  int begin;
  int end;
  std::vector<float> p;  // one a position: scores, then weights
  float largest = kMinusInfinity;
  float sum = 0.0f;
  std::vector<float> o;  // [v_head_size]

  bool reads(int position) const { return begin <= position && position < end; }
};

const float* k_at(const AttentionHead& head, int position) {
  return head.pages.k(head.layer, page_at(head.table, position), slot_of(position), head.kv_head);
}

const float* v_at(const AttentionHead& head, int position) {
  return head.pages.v(head.layer, page_at(head.table, position), slot_of(position), head.kv_head);
}

float score(const AttentionHead& head, const float* q, int position) {
  const int size = head.pages.group_of(head.layer).k_head_size;
  const float* k = k_at(head, position);
  float s = head.kv == KvType::kBF16 ? dot_pairs(q, k, size) : dot_ascending(q, k, size);
  s = s * head.spec.scale;
  return head.spec.soft_cap == 0.0f ? s : soft_cap_f32(s, head.spec.soft_cap);
}

// Pairs of keys (even, even + 1), odd key first; a key that is not read is the term +0 x +0.
float sum_values_in_pairs(const AttentionHead& head, const Chunk& chunk, int d) {
  float acc = 0.0f;
  const auto add = [&](int position) {
    const bool read = chunk.reads(position);
    const float p = read ? round_to_kv(KvType::kBF16, chunk.p[position - chunk.begin]) : 0.0f;
    acc = std::fma(p, read ? v_at(head, position)[d] : 0.0f, acc);
  };
  for (int even = chunk.begin / 2 * 2; even < chunk.end; even += 2) {
    add(even + 1);
    add(even);
  }
  return acc;
}

float sum_values(const AttentionHead& head, const Chunk& chunk, int d) {
  float acc = 0.0f;
  for (int position = chunk.begin; position < chunk.end; ++position) {
    acc = std::fma(chunk.p[position - chunk.begin], v_at(head, position)[d], acc);
  }
  return acc;
}

Chunk attend_chunk(const AttentionHead& head, const float* q, int begin, int end) {
  Chunk chunk = {.begin = begin, .end = end, .p = {}, .o = {}};
  for (int position = begin; position < end; ++position) {
    chunk.p.push_back(score(head, q, position));
    chunk.largest = std::max(chunk.largest, chunk.p.back());
  }
  SixteenLanes sum;
  for (int position = begin; position < end; ++position) {
    float& p = chunk.p[position - begin];
    p = exp_f32(p - chunk.largest);
    sum.lane(position) += p;
  }
  chunk.sum = sum.tree();
  const int size = head.pages.group_of(head.layer).v_head_size;
  for (int d = 0; d < size; ++d) {
    chunk.o.push_back(head.kv == KvType::kBF16 ? sum_values_in_pairs(head, chunk, d)
                                               : sum_values(head, chunk, d));
  }
  return chunk;
}

// The first position a row reads.
int first_position(const LayerGroup& group, int position) {
  return group.kind == StateKind::kWindow ? std::max(0, position - group.window + 1) : 0;
}

}  // namespace

float round_to_kv(KvType type, float x) {
  switch (type) {
    case KvType::kF16:
      return f32_from_f16(f16_from_f32(x));
    case KvType::kBF16:
      return f32_from_bf16(bf16_from_f32(x));
    case KvType::kF32:
      break;
  }
  return x;
}

void attend_head(const AttentionHead& head, const float* q, float* out) {
  const LayerGroup& group = head.pages.group_of(head.layer);
  std::vector<float> query(q, q + group.k_head_size);
  if (head.kv == KvType::kBF16) {
    for (float& x : query) x = round_to_kv(KvType::kBF16, x);
  }
  float m = kMinusInfinity;
  float l = 0.0f;
  std::vector<float> o(group.v_head_size, 0.0f);
  int begin = first_position(group, head.position);
  while (begin <= head.position) {
    const int next_chunk = (begin / kChunkPositions + 1) * kChunkPositions;
    const int end = std::min(next_chunk, head.position + 1);
    const Chunk chunk = attend_chunk(head, query.data(), begin, end);
    const float larger = std::max(m, chunk.largest);
    const float a = m == kMinusInfinity ? 0.0f : exp_f32(m - larger);
    const float b = exp_f32(chunk.largest - larger);
    l = std::fma(chunk.sum, b, l * a);
    for (int d = 0; d < group.v_head_size; ++d) o[d] = std::fma(chunk.o[d], b, o[d] * a);
    m = larger;
    begin = end;
  }
  const float inverse = 1.0f / l;
  for (int d = 0; d < group.v_head_size; ++d) out[d] = o[d] * inverse;
}

}  // namespace lockstep::device::reference
