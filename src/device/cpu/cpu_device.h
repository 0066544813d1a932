// The Device of x86-64 CPUs: ops run when they are called, over a table of kernels chosen once.
#pragma once

#include <memory>
#include <string>

#include "base/profile.h"
#include "base/status.h"
#include "device/device.h"

namespace lockstep::device {

struct CpuOptions {
  Profile profile;
  int threads = 1;  // [1, kMaxCpuThreads], the caller of the ops included
  // "scalar", "avx2", "avx512", "avx512_vnni", "avx512_bf16"; empty: the environment variable
  // LOCKSTEP_ISA, or the best that this CPU runs. All give the same bits.
  std::string isa;
};
inline constexpr int kMaxCpuThreads = 1024;

// invalid_argument for a thread count out of range, or an instruction set that is unknown or not
// this CPU's.
StatusOr<std::unique_ptr<Device>> make_cpu_device(const CpuOptions& options);

}  // namespace lockstep::device
