// Test helper: a checkpoint on a device with a runner, in one value.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/device.h"
#include "engine/runner.h"
#include "formats/checkpoint.h"
#include "model/model.h"

namespace lockstep::engine::testing {

struct Loaded {
  std::unique_ptr<formats::Checkpoint> checkpoint;
  std::unique_ptr<device::Device> device;
  std::unique_ptr<model::Model> model;
  std::unique_ptr<Runner> runner;

  // Logits of every position, one row after another. `ids` must pass the vocabulary.
  std::vector<float> score(const std::vector<int64_t>& ids);
  // Greedy continuation.
  std::vector<int32_t> continue_greedily(const std::vector<int64_t>& prompt, int tokens);
};

// Aborts the test program on any error: for checkpoints that are known to load.
Loaded load(const std::string& path, std::unique_ptr<device::Device> device, int chunk_rows = 0);

// One device of each kind that this machine runs: "reference", then the CPU device by instruction
// set, with 1 thread and the last with 2.
struct DeviceKind {
  std::string name;
  std::string isa;  // empty: the reference device
  int threads = 1;
};
std::vector<DeviceKind> device_kinds();
std::unique_ptr<device::Device> make(const DeviceKind& kind, const Profile& profile);

Profile profile_of(Arithmetic arithmetic);

// Equal bits, NaNs equal to each other.
bool same_bits(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace lockstep::engine::testing
