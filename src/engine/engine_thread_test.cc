// Clients on many threads, and what a watchdog sees. Run under ThreadSanitizer by `make soak`.
#include "engine/engine_thread.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "device/check/forwarding_device.h"
#include "engine/testing/golden.h"
#include "engine/testing/serving.h"

namespace lockstep::engine {
namespace {

using testing::fields_of;
using testing::made_prompt;
using testing::Serving;

std::unique_ptr<device::Device> cpu() {
  return testing::make({.name = "cpu", .isa = testing::device_kinds().back().isa, .threads = 1},
                       testing::profile_of(Arithmetic::kBF16));
}

// Steps wait until they may end; on demand they fail.
class StuckDevice : public device::ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;

  Status end_step() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !stuck_; });
    const Status status = ForwardingDevice::end_step();
    return broken_ ? data_loss("the device is gone") : status;
  }
  void set(bool stuck, bool broken) {
    const std::lock_guard lock(mutex_);
    stuck_ = stuck;
    broken_ = broken;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stuck_ = false;
  bool broken_ = false;
};

// Reads until the end.
Reply read_all(Stream& stream) {
  Reply reply;
  while (const auto event = stream.next()) {
    if (event->token.has_value()) reply.tokens.push_back(*event->token);
    if (!event->finish.has_value()) continue;
    reply.finish = *event->finish;
    reply.error = event->error;
  }
  return reply;
}

TEST(EngineThread, ClientsOnManyThreadsGetWhatTheyGetAlone) {
  testing::Loaded loaded = testing::load(testing::golden_path("llama"), cpu());
  const RequestFields request = fields_of(made_prompt(*loaded.model, 40), 12);
  const Reply alone = Serving(*loaded.model, *loaded.device, {}).reply(request);

  Serving serving(*loaded.model, *loaded.device, {.stream_events = 4});
  std::vector<std::vector<TokenId>> replies(8);
  {
    EngineThread engine(serving.engine());
    std::vector<std::thread> clients;
    for (auto& reply : replies) {
      clients.emplace_back([&] {
        for (int i = 0; i < 3; ++i) reply = read_all(*serving.start(request)).tokens;
        const auto abandoned = serving.start(request);
        abandoned->next();
        abandoned->cancel();
        while (abandoned->next()) {
        }
      });
    }
    for (std::thread& client : clients) client.join();
    EXPECT_TRUE(engine.health().ok());
  }
  for (const auto& reply : replies) EXPECT_EQ(reply, alone.tokens);
  EXPECT_TRUE(serving.engine().check_integrity().ok());
}

TEST(EngineThread, WatchdogSeesAStepThatDoesNotFinish) {
  const auto inner = cpu();
  auto stuck = std::make_unique<StuckDevice>(*inner);
  StuckDevice& device = *stuck;
  testing::Loaded loaded = testing::load(testing::golden_path("llama"), std::move(stuck));
  Serving serving(*loaded.model, device, {});
  EngineThread engine(serving.engine(), {.longest_step = std::chrono::milliseconds(5)});
  device.set(/*stuck=*/true, /*broken=*/false);
  const auto stream = serving.start(fields_of(made_prompt(*loaded.model, 5), 3));
  while (engine.health().ok()) std::this_thread::yield();
  EXPECT_NE(message_of(engine.health()).find("a step has been running"), std::string::npos);
  device.set(false, false);
  EXPECT_EQ(read_all(*stream).tokens.size(), 3u);
}

TEST(EngineThread, FaultOfTheDeviceEndsTheStepsRequestsAndIsReported) {
  const auto inner = cpu();
  auto stuck = std::make_unique<StuckDevice>(*inner);
  StuckDevice& device = *stuck;
  testing::Loaded loaded = testing::load(testing::golden_path("llama"), std::move(stuck));
  Serving serving(*loaded.model, device, {});
  device.set(false, /*broken=*/true);
  {
    EngineThread engine(serving.engine());
    const Reply reply = read_all(*serving.start(fields_of(made_prompt(*loaded.model, 5), 3)));
    EXPECT_EQ(reply.finish, FinishReason::kError);
    EXPECT_EQ(message_of(reply.error), "the device is gone");
    while (engine.health().ok()) std::this_thread::yield();
    EXPECT_EQ(message_of(engine.health()), "the device has failed; see the log");
  }
  EXPECT_TRUE(serving.engine().check_integrity().ok());
}

}  // namespace
}  // namespace lockstep::engine
