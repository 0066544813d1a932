// Runs an engine's steps on a thread of its own, and notices when they no longer get on.
//
// Thread rule: any thread. Ownership: borrows the engine, which must outlive it; joins at its end,
// after the step at hand.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "base/status.h"
#include "engine/engine.h"

namespace lockstep::engine {

struct WatchdogOptions {
  // A step of a healthy engine takes far less, on any model that a user would wait for.
  std::chrono::milliseconds longest_step{60'000};
};

class EngineThread {
 public:
  explicit EngineThread(Engine& engine, const WatchdogOptions& options = {});
  ~EngineThread();
  EngineThread(const EngineThread&) = delete;
  EngineThread& operator=(const EngineThread&) = delete;

  // unavailable, saying why, when a step does not finish or the device has failed.
  Status health() const;

 private:
  void run();

  Engine& engine_;
  const WatchdogOptions options_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace lockstep::engine
