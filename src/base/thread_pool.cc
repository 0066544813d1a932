#include "base/thread_pool.h"

#include <signal.h>

#include <atomic>
#include <cfenv>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace lockstep {

// ---- Floating-point mode

#if defined(__x86_64__)
// MXCSR: exceptions masked, nearest even, FTZ (bit 15), DAZ (bit 6).
ComputeScope::ComputeScope() : saved_(_mm_getcsr()) { _mm_setcsr(0x1f80 | 0x8040); }
ComputeScope::~ComputeScope() { _mm_setcsr(saved_); }
#elif defined(__aarch64__)
// FPCR: nearest even, FZ (bit 24).
ComputeScope::ComputeScope() : saved_(static_cast<uint32_t>(__builtin_aarch64_get_fpcr())) {
  __builtin_aarch64_set_fpcr(1u << 24);
}
ComputeScope::~ComputeScope() { __builtin_aarch64_set_fpcr(saved_); }
#else
ComputeScope::ComputeScope() : saved_(static_cast<uint32_t>(std::fegetround())) {
  std::fesetround(FE_TONEAREST);
}
ComputeScope::~ComputeScope() { std::fesetround(static_cast<int>(saved_)); }
#endif

// ---- The team

namespace {

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("yield");
#endif
}

// Asks again until `ready` or the time is up; the clock is read every few pauses only.
template <class Ready>
bool spin_until(std::chrono::microseconds limit, const Ready& ready) {
  constexpr int kPausesAClockRead = 16;
  const auto end = std::chrono::steady_clock::now() + limit;
  do {
    for (int i = 0; i < kPausesAClockRead; ++i) {
      if (ready()) return true;
      pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

// Threads started while it lives never handle a signal: one that is meant to end a read or a wait
// of the caller would else be lost on a worker.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &saved_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &saved_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t saved_;
};

// Longer than the serial work between two loops of a decode step, shorter than anyone notices.
constexpr std::chrono::microseconds kSpin{50};

}  // namespace

// A loop is open from the store to `remaining` until every index has been run and reported. Taking
// an index decrements `remaining`, so whoever gets a positive value owns an index of the loop that
// is open now, and `task`, `context` and `count` stay as they are until it has been reported. A
// worker that was asleep or descheduled throughout owns nothing and is not waited for.
struct ThreadPool::Shared {
  alignas(64) std::atomic<int64_t> remaining{0};  // indices not taken; may fall below 0 when empty
  RawTask task = nullptr;
  const void* context = nullptr;
  int64_t count = 0;

  alignas(64) std::atomic<int64_t> reported{0};  // indices that workers have run

  alignas(64) std::atomic<int> sleepers{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::condition_variable wake;

  std::chrono::microseconds spin{0};
  std::vector<std::thread> workers;

  bool open() const { return remaining.load(std::memory_order_relaxed) > 0; }

  // Takes and runs indices until none are left; how many it ran.
  int64_t work(int worker) {
    int64_t ran = 0;
    while (open()) {
      const int64_t left = remaining.fetch_sub(1, std::memory_order_acquire);
      if (left <= 0) break;
      task(context, count - left, worker);
      ++ran;
    }
    return ran;
  }

  void worker_main(int worker) {
    const ComputeScope scope;
    const auto wanted = [this] { return open() || stop.load(std::memory_order_relaxed); };
    while (!stop.load(std::memory_order_relaxed)) {
      if (const int64_t ran = work(worker); ran > 0) {
        reported.fetch_add(ran, std::memory_order_release);
      }
      if (!spin_until(spin, wanted)) sleep();
    }
  }

  // `sleepers` is raised before `remaining` is read, and post() does the opposite, all in one total
  // order: one of the two sees the other.
  void sleep() {
    std::unique_lock lock(mutex);
    sleepers.fetch_add(1);
    wake.wait(lock, [this] { return remaining.load() > 0 || stop.load(); });
    sleepers.fetch_sub(1);
  }

  void post(int64_t indices, RawTask raw_task, const void* raw_context) {
    task = raw_task;
    context = raw_context;
    count = indices;
    reported.store(0, std::memory_order_relaxed);
    remaining.store(indices);
    if (sleepers.load() > 0) wake_all();
  }

  void wake_all() {
    { const std::lock_guard lock(mutex); }  // a sleeper is now either before its check or waiting
    wake.notify_all();
  }

  // Workers that own an index are running, or waiting for this very core.
  void wait_for_reports(int64_t indices) {
    const auto all = [&] { return reported.load(std::memory_order_acquire) == indices; };
    if (spin_until(kSpin, all)) return;
    while (!all()) std::this_thread::yield();
  }
};

ThreadPool::ThreadPool(int threads) : shared_(std::make_unique<Shared>()) {
  if (threads <= static_cast<int>(std::thread::hardware_concurrency())) shared_->spin = kSpin;
  const SignalsBlocked scope;
  try {
    for (int i = 1; i < threads; ++i) {
      shared_->workers.emplace_back([shared = shared_.get(), i] { shared->worker_main(i); });
    }
  } catch (const std::system_error&) {
    return;  // the system allows no more threads: the team is those there are
  }
}

ThreadPool::~ThreadPool() {
  shared_->stop.store(true);
  shared_->wake_all();
  for (std::thread& worker : shared_->workers) worker.join();
}

int ThreadPool::threads() const { return 1 + static_cast<int>(shared_->workers.size()); }

void ThreadPool::run_raw(int64_t count, RawTask task, const void* context) {
  const ComputeScope scope;
  if (count <= 1 || shared_->workers.empty()) {
    for (int64_t i = 0; i < count; ++i) task(context, i, 0);
    return;
  }
  shared_->post(count, task, context);
  const int64_t ran = shared_->work(0);
  if (ran < count) shared_->wait_for_reports(count - ran);
}

}  // namespace lockstep
