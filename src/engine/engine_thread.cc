#include "engine/engine_thread.h"

namespace lockstep::engine {
namespace {

// Woken for new work at once; this often looks for deadlines.
constexpr std::chrono::milliseconds kIdleWait{50};

}  // namespace

EngineThread::EngineThread(Engine& engine, const WatchdogOptions& options)
    : engine_(engine), options_(options), thread_([this] { run(); }) {}

EngineThread::~EngineThread() {
  stopping_.store(true);
  engine_.waker().wake();
  thread_.join();
}

void EngineThread::run() {
  while (!stopping_.load()) {
    if (!engine_.step()) engine_.waker().wait(kIdleWait);
  }
}

Status EngineThread::health() const {
  const EngineStatus status = engine_.status();
  if (!status.device_is_healthy) return unavailable("the device has failed; see the log");
  if (status.step_age > options_.longest_step) {
    return unavailable("a step has been running for {} ms; {} are allowed", status.step_age.count(),
                       options_.longest_step.count());
  }
  return ok_status();
}

}  // namespace lockstep::engine
