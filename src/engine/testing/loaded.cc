#include "engine/testing/loaded.h"

#include <cstdlib>
#include <cstring>

#include "device/cpu/cpu_device.h"
#include "device/cpu/isa.h"
#include "device/reference/reference_device.h"

namespace lockstep::engine::testing {
namespace {

void must(const Status& status) {
  if (status.ok()) return;
  fmt::print(stderr, "{}\n", message_of(status));
  std::abort();
}
template <class T>
T must(StatusOr<T> value) {
  must(value.status());
  return *std::move(value);
}

constexpr int kMaxRows = 64;

}  // namespace

std::vector<float> Loaded::score(const std::vector<int64_t>& ids) {
  std::vector<float> out;
  const auto admitted = must(model->vocabulary().admit_all(ids));
  must(runner->score(admitted, [&](int, std::span<const float> row) {
    out.insert(out.end(), row.begin(), row.end());
    return ok_status();
  }));
  return out;
}

std::vector<int32_t> Loaded::continue_greedily(const std::vector<int64_t>& prompt, int tokens) {
  GenerateRequest request;
  request.max_tokens = tokens;
  const auto result = must(runner->generate(must(model->vocabulary().admit_all(prompt)), request));
  std::vector<int32_t> ids;
  ids.reserve(result.tokens.size());
  for (const TokenId id : result.tokens) ids.push_back(id.value());
  return ids;
}

Loaded load(const std::string& path, std::unique_ptr<device::Device> device, int chunk_rows) {
  Loaded loaded;
  loaded.checkpoint = must(formats::open_checkpoint(path));
  loaded.device = std::move(device);
  loaded.model = must(model::build_model(*loaded.checkpoint, *loaded.device,
                                         {.max_rows = kMaxRows, .max_logit_rows = kMaxRows}));
  loaded.runner = must(
      Runner::create(*loaded.model, *loaded.device,
                     {.max_positions = loaded.model->max_positions(), .chunk_rows = chunk_rows}));
  return loaded;
}

std::vector<DeviceKind> device_kinds() {
  std::vector<DeviceKind> kinds = {{.name = "reference", .isa = "", .threads = 1}};
  for (const auto* kernels : device::cpu::runnable_kernels()) {
    kinds.push_back({.name = kernels->isa, .isa = kernels->isa, .threads = 1});
  }
  kinds.push_back({.name = kinds.back().isa + "_2_threads", .isa = kinds.back().isa, .threads = 2});
  return kinds;
}

std::unique_ptr<device::Device> make(const DeviceKind& kind, const Profile& profile) {
  if (kind.isa.empty()) return device::make_reference_device(profile);
  return must(
      device::make_cpu_device({.profile = profile, .threads = kind.threads, .isa = kind.isa}));
}

Profile profile_of(Arithmetic arithmetic) {
  return {.arithmetic = arithmetic, .kv = Profile::default_kv(arithmetic)};
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  // Device::read has made NaNs canonical.
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace lockstep::engine::testing
