#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

namespace lockstep {
namespace {

// Each index adds one to its own cell: what a loop must have done is 1 everywhere.
std::vector<int> visits(ThreadPool& pool, int64_t count) {
  std::vector<int> cells(static_cast<size_t>(count), 0);
  pool.run(count, [&](int64_t i, int) { ++cells[static_cast<size_t>(i)]; });
  return cells;
}

TEST(ThreadPool, EveryIndexRunsOnce) {
  for (int threads : {1, 2, 3, 7}) {
    ThreadPool pool(threads);
    for (int64_t count : {0, 1, 2, 3, 64, 1000}) {
      EXPECT_EQ(visits(pool, count), std::vector<int>(static_cast<size_t>(count), 1));
    }
  }
}

TEST(ThreadPool, ShortLoopsInARowKeepTheirOwnTasks) {
  ThreadPool pool(4);
  int64_t sum = 0;
  for (int64_t loop = 0; loop < 20000; ++loop) {
    std::array<int64_t, 3> out{};
    pool.run(3, [&](int64_t i, int) { out[static_cast<size_t>(i)] = loop + i; });
    sum += out[0] + out[1] + out[2];
  }
  EXPECT_EQ(sum, 3 * (20000 * int64_t{19999} / 2) + 3 * 20000);
}

TEST(ThreadPool, WorkersThatSleepAreWoken) {
  ThreadPool pool(2);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::atomic<int> arrived = 0;
  // Two indices that wait for each other: only two threads can end this.
  pool.run(2, [&](int64_t, int) {
    ++arrived;
    while (arrived < 2) std::this_thread::yield();
  });
  EXPECT_EQ(arrived, 2);
}

TEST(ThreadPool, WorkerNumbersAreDistinctAndInRange) {
  ThreadPool pool(3);
  ASSERT_EQ(pool.threads(), 3);
  std::atomic<int> arrived = 0;
  std::array<int, 3> worker_of{};
  pool.run(3, [&](int64_t i, int worker) {
    worker_of[static_cast<size_t>(i)] = worker;
    ++arrived;
    while (arrived < 3) std::this_thread::yield();
  });
  EXPECT_EQ(std::set<int>(worker_of.begin(), worker_of.end()), (std::set<int>{0, 1, 2}));
}

// The smallest normal halved: zero with FTZ. And the smallest denormal times 2^24: zero with DAZ.
bool flushes() {
  volatile float normal = 0x1p-126f;
  volatile float denormal = 0x1p-149f;
  volatile float half = normal * 0.5f;
  volatile float scaled = denormal * 0x1p+24f;
  return half == 0.0f && scaled == 0.0f;
}

TEST(ThreadPool, EveryThreadFlushesDenormalsAndTheCallerOnlyInside) {
  for (int threads : {1, 2}) {
    ThreadPool pool(threads);
    std::atomic<int> arrived = 0;
    std::array<bool, 2> flushed{};
    pool.run(threads, [&](int64_t i, int) {
      flushed[static_cast<size_t>(i)] = flushes();
      ++arrived;
      while (arrived < threads) std::this_thread::yield();
    });
    for (int i = 0; i < threads; ++i) EXPECT_TRUE(flushed[static_cast<size_t>(i)]);
    EXPECT_FALSE(flushes());
  }
}

TEST(ComputeScope, NestsAndRestores) {
  {
    const ComputeScope outer;
    { const ComputeScope inner; }
    EXPECT_TRUE(flushes());
  }
  EXPECT_FALSE(flushes());
}

TEST(ThreadPool, SignalsReachTheCallerOnly) {
  ThreadPool pool(2);
  std::atomic<int> arrived = 0;
  std::array<bool, 2> blocked{};
  pool.run(2, [&](int64_t, int worker) {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    blocked[static_cast<size_t>(worker)] = sigismember(&mask, SIGINT) == 1;
    ++arrived;
    while (arrived < 2) std::this_thread::yield();
  });
  EXPECT_FALSE(blocked[0]);
  EXPECT_TRUE(blocked[1]);
}

TEST(ThreadPool, ManyMoreThreadsThanCoresFinish) {
  ThreadPool pool(33);
  for (int loop = 0; loop < 200; ++loop) {
    EXPECT_EQ(visits(pool, 50), std::vector<int>(50, 1));
  }
}

}  // namespace
}  // namespace lockstep
