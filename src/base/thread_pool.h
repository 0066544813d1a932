// A fixed team of threads for data-parallel loops. It cannot change bits: a task writes only what
// its index owns, whichever thread runs it and in whatever order.
//
// Thread rule: one thread at a time calls run(); that thread works too. Idle workers spin for a
// bounded time (a decode step posts a loop every few microseconds), then sleep.
//
// Signals are the caller's: workers have all of them blocked.
//
// Every thread of the team, the caller included while it is inside run(), has FTZ and DAZ set and
// rounds to nearest (ComputeScope).
#pragma once

#include <cstdint>
#include <memory>

namespace lockstep {

// Sets this thread's floating-point mode for computing and puts the old one back at the end.
class ComputeScope {
 public:
  ComputeScope();
  ~ComputeScope();
  ComputeScope(const ComputeScope&) = delete;
  ComputeScope& operator=(const ComputeScope&) = delete;

 private:
  uint32_t saved_;
};

class ThreadPool {
 public:
  // REQUIRES 1 <= threads. `threads` counts the caller of run().
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;

  // Calls task(index, worker) once for each index in [0, count), indices taken from a shared
  // counter; worker in [0, threads()) names the running thread, for scratch memory. Returns when
  // all are done. The task must not throw and must not call run().
  template <class Task>
  void run(int64_t count, const Task& task) {
    run_raw(
        count, [](const void* t, int64_t i, int w) { (*static_cast<const Task*>(t))(i, w); },
        &task);
  }

 private:
  using RawTask = void (*)(const void* context, int64_t index, int worker);
  void run_raw(int64_t count, RawTask task, const void* context);

  struct Shared;
  std::unique_ptr<Shared> shared_;
};

}  // namespace lockstep
