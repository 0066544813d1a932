#include "engine/stream.h"

namespace lockstep::engine {

std::string_view finish_reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kContext:
      return "context";
    case FinishReason::kCancelled:
      return "cancelled";
    case FinishReason::kDeadline:
      return "deadline";
    case FinishReason::kError:
      return "error";
  }
  return "";
}

void Waker::wake() {
  {
    const std::lock_guard lock(mutex_);
    is_woken_ = true;
  }
  woken_.notify_one();
}

void Waker::wait(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  woken_.wait_for(lock, most, [&] { return is_woken_; });
  is_woken_ = false;
}

std::optional<Event> Stream::next() {
  std::unique_lock lock(mutex_);
  pushed_.wait(lock, [&] { return !events_.empty() || open_choices_ == 0; });
  return pop(lock);
}

std::optional<Event> Stream::try_next() {
  std::unique_lock lock(mutex_);
  return pop(lock);
}

std::optional<Event> Stream::pop(std::unique_lock<std::mutex>& lock) {
  if (events_.empty()) return std::nullopt;
  Event event = std::move(events_.front());
  events_.pop_front();
  // Once for every time that it was full, and not at the first event read: the engine need not be
  // woken for each.
  const bool wake = events_.size() == capacity_ / 2;
  lock.unlock();
  if (wake) engine_->wake();
  return event;
}

bool Stream::is_done() const {
  const std::lock_guard lock(mutex_);
  return events_.empty() && open_choices_ == 0;
}

Usage Stream::usage() const {
  const std::lock_guard lock(mutex_);
  return usage_;
}

void Stream::cancel() {
  cancelled_.store(true, std::memory_order_relaxed);
  engine_->wake();
}

void Stream::push(Event event) {
  {
    const std::lock_guard lock(mutex_);
    if (event.finish.has_value()) --open_choices_;
    events_.push_back(std::move(event));
  }
  pushed_.notify_one();
}

bool Stream::has_room() const {
  const std::lock_guard lock(mutex_);
  return events_.size() + static_cast<size_t>(open_choices_) <= capacity_;
}

void Stream::set_usage(const Usage& usage) {
  const std::lock_guard lock(mutex_);
  usage_ = usage;
}

}  // namespace lockstep::engine
