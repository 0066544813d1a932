#include "device/reference/linear.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/float16.h"
#include "device/quant_blocks.h"
#include "device/reference/chains.h"
#include "device/stack_check.h"

namespace lockstep::device::reference {
namespace {

// ---- int8 activations

struct Int8Group {
  std::array<int32_t, kGroupSize> q{};
  float d = 0.0f;
  std::array<int32_t, 2> sum{};  // of each half of q
};

// quant32 of docs/numerics.md; x becomes what is left over.
Int8Group quantise(float* x) {
  uint32_t m = 0;
  for (int i = 0; i < kGroupSize; ++i) {
    m = std::max(m, std::bit_cast<uint32_t>(x[i]) & 0x7fffffffu);
  }
  const auto largest = std::bit_cast<float>(m);
  Int8Group g;
  if (m >= 0x7f800000u) {
    g.d = std::numeric_limits<float>::quiet_NaN();
  } else if (!(largest < 0x1p-100f)) {
    g.d = largest / 127.0f;
    const float scale = 127.0f / largest;
    for (int i = 0; i < kGroupSize; ++i) {
      g.q[i] = static_cast<int32_t>(std::rint(x[i] * scale));
      g.sum[i / 16] += g.q[i];
    }
  }
  for (int i = 0; i < kGroupSize; ++i) x[i] = std::fma(-static_cast<float>(g.q[i]), g.d, x[i]);
  return g;
}

std::vector<Int8Group> quantise_row(std::vector<float>& x) {
  std::vector<Int8Group> groups;
  for (size_t k = 0; k < x.size(); k += kGroupSize) groups.push_back(quantise(x.data() + k));
  return groups;
}

int32_t integer_dot(const Int8Group& a, const QuantGroup& w, int first, int count) {
  int32_t s = 0;
  for (int i = first; i < first + count; ++i) s += a.q[i] * w.codes[i];
  return s;
}

// acc plus the terms of one block.
float add_group(GroupForm form, const Int8Group& a, const QuantGroup& w, float acc) {
  const int32_t s0 = integer_dot(a, w, 0, 16);
  const int32_t s1 = integer_dot(a, w, 16, 16);
  if (form.halves) {
    acc = std::fma(static_cast<float>(w.sc[0] * s0 + w.sc[1] * s1), w.d * a.d, acc);
    if (!form.minimum) return acc;
    const int32_t t = w.mn[0] * a.sum[0] + w.mn[1] * a.sum[1];
    return std::fma(static_cast<float>(t), -(w.m * a.d), acc);
  }
  const float scale = w.d * static_cast<float>(w.sc[0]);
  acc = std::fma(static_cast<float>(s0 + s1), scale * a.d, acc);
  if (!form.minimum) return acc;
  const float minimum = -(w.m * static_cast<float>(w.mn[0]));
  return std::fma(minimum, a.d * static_cast<float>(a.sum[0] + a.sum[1]), acc);
}

float dot_int8(DType dtype, const std::vector<Int8Group>& a, const std::byte* row, int64_t inputs) {
  const GroupForm form = group_form(dtype);
  return sum_slices(inputs, [&](int64_t first, int64_t count) {
    float acc = 0.0f;
    for (int64_t g = first / kGroupSize; g < (first + count) / kGroupSize; ++g) {
      acc = add_group(form, a[g], unpack_group(dtype, row, g), acc);
    }
    return acc;
  });
}

// ---- Floats

float dot_f32(const float* a, const float* w, int64_t inputs) {
  return sum_slices(inputs, [&](int64_t first, int64_t count) {
    return dot_ascending(a + first, w + first, count);
  });
}

float dot_bf16(const float* a, const float* w, int64_t inputs) {
  return sum_slices(
      inputs, [&](int64_t first, int64_t count) { return dot_pairs(a + first, w + first, count); });
}

float round_to_bf16(float x) { return f32_from_bf16(bf16_from_f32(x)); }

std::vector<float> values_of(const TensorView& tensor, int64_t elements) {
  std::vector<float> values(elements);
  dequantise(tensor.dtype, tensor.bytes.data(), values);
  return values;
}

}  // namespace

StatusOr<std::unique_ptr<ReferenceLinear>> ReferenceLinear::create(
    std::span<const LinearWeight> stacked, Arithmetic arithmetic) {
  LOCKSTEP_RETURN_IF_ERROR(check_stack(stacked));
  std::unique_ptr<ReferenceLinear> plan(
      new ReferenceLinear(stacked_outputs(stacked), stacked[0].weight.shape[1]));
  for (const LinearWeight& from : stacked) {
    Weight weight = make_weight(from, arithmetic);
    plan->bytes_ +=
        static_cast<int64_t>(weight.values.size() * sizeof(float) + weight.blocks.size());
    plan->weights_.push_back(std::move(weight));
  }
  return plan;
}

ReferenceLinear::Weight ReferenceLinear::make_weight(const LinearWeight& from,
                                                     Arithmetic arithmetic) {
  const TensorView& tensor = from.weight;
  Weight weight = {};
  weight.rule = linear_rule(arithmetic, tensor);
  weight.dtype = tensor.dtype;
  weight.outputs = tensor.shape[0];
  if (weight.rule == LinearRule::kInt8) {
    weight.blocks.assign(tensor.bytes.begin(), tensor.bytes.end());
    weight.row_bytes = static_cast<int64_t>(tensor.bytes.size()) / weight.outputs;
  } else {
    weight.values = values_of(tensor, weight.outputs * tensor.shape[1]);
  }
  if (weight.rule == LinearRule::kBF16) {
    for (float& value : weight.values) value = round_to_bf16(value);
  }
  if (from.bias) weight.bias = values_of(*from.bias, weight.outputs);
  return weight;
}

void ReferenceLinear::multiply(const float* in, float* out) const {
  for (const Weight& weight : weights_) {
    multiply(weight, in, out);
    for (size_t n = 0; n < weight.bias.size(); ++n) out[n] += weight.bias[n];
    out += weight.outputs;
  }
}

void ReferenceLinear::multiply(const Weight& weight, const float* in, float* out) const {
  const float* values = weight.values.data();
  switch (weight.rule) {
    case LinearRule::kF32:
      for (int64_t n = 0; n < weight.outputs; ++n) {
        out[n] = dot_f32(in, values + n * inputs(), inputs());
      }
      return;
    case LinearRule::kBF16: {
      std::vector<float> rounded(in, in + inputs());
      for (float& x : rounded) x = round_to_bf16(x);
      for (int64_t n = 0; n < weight.outputs; ++n) {
        out[n] = dot_bf16(rounded.data(), values + n * inputs(), inputs());
      }
      return;
    }
    case LinearRule::kInt8: {
      std::vector<float> rest(in, in + inputs());
      const std::vector<Int8Group> first = quantise_row(rest);
      const std::vector<Int8Group> second = quantise_row(rest);
      for (int64_t n = 0; n < weight.outputs; ++n) {
        const std::byte* row = weight.blocks.data() + n * weight.row_bytes;
        out[n] = dot_int8(weight.dtype, first, row, inputs()) +
                 dot_int8(weight.dtype, second, row, inputs());
      }
      return;
    }
  }
}

void ReferenceLinear::embed(int64_t output, float scale, float* out) const {
  auto weight = weights_.begin();
  for (; output >= weight->outputs; ++weight) output -= weight->outputs;
  if (weight->rule == LinearRule::kInt8) {
    const std::byte* row = weight->blocks.data() + output * weight->row_bytes;
    dequantise(weight->dtype, row, std::span(out, inputs()));
  } else {
    std::copy_n(weight->values.data() + output * inputs(), inputs(), out);
  }
  for (int64_t k = 0; k < inputs(); ++k) out[k] = scale * out[k];
}

}  // namespace lockstep::device::reference
