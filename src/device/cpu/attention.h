// Spreads the attention of a step's sequences over the thread pool.
//
// Thread rule: called by the engine thread.
#pragma once

#include <memory>
#include <span>

#include "base/thread_pool.h"
#include "device/cpu/attention_kernels.h"

namespace lockstep::device::cpu {

// What run_attention needs besides its arguments, grown on demand and reused over a device's life.
class AttentionScratch {
 public:
  AttentionScratch();
  ~AttentionScratch();

 private:
  friend void run_attention(const KvKernels&, ThreadPool&, AttentionScratch&,
                            std::span<const AttendJob>);
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

// Each job: rows of one sequence. REQUIRES the same pages and head counts in all of them.
void run_attention(const KvKernels& kernels, ThreadPool& pool, AttentionScratch& scratch,
                   std::span<const AttendJob> jobs);

}  // namespace lockstep::device::cpu
