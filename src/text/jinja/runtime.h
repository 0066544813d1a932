// What one rendering carries along: its budgets, its clock, and the way back into the interpreter
// for functions that call others.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/jinja/builtins.h"
#include "text/jinja/limits.h"
#include "text/jinja/value.h"

namespace lockstep::text::jinja {

class Runtime {
 public:
  // Levels of statements, expressions and calls together.
  static constexpr int kMaxDepth = 500;

  Runtime(const Limits& limits, int64_t now_unix_seconds)
      : limits_(limits),
        steps_left_(limits.steps),
        bytes_left_(limits.work_bytes),
        now_unix_seconds_(now_unix_seconds) {}

  Status charge_steps(int64_t steps);
  // REQUIRES bytes >= 0.
  Status charge_bytes(int64_t bytes);
  // For going through all of a value.
  Status charge_for(const Value& value) { return charge_bytes(value.weight()); }

  // Values of any size are made here, so that they are paid for.
  StatusOr<Value> text(TracedText text);
  StatusOr<Value> texts(std::vector<TracedText> texts);  // as a list
  StatusOr<Value> sequence(std::vector<Value> items, SequenceKind kind);
  StatusOr<Value> list(std::vector<Value> items) {
    return sequence(std::move(items), SequenceKind::kList);
  }
  // Value::dict, paid for.
  StatusOr<Value> dict(std::vector<std::pair<Value, Value>> entries);
  // str(value).
  StatusOr<TracedText> str(const Value& value);
  // What a for loop goes through: items, keys, characters. Undefined is empty.
  StatusOr<std::vector<Value>> iterate(const Value& value);

  // One level of recursion for as long as it lives; every recursive function of the engine that a
  // template or its values can drive deeper holds one, so the stack is bounded.
  class Level {
   public:
    explicit Level(Runtime& runtime) : runtime_(runtime) { ++runtime_.depth_; }
    ~Level() { --runtime_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    Status status() const;

   private:
    Runtime& runtime_;
  };

  const Limits& limits() const { return limits_; }
  int64_t now_unix_seconds() const { return now_unix_seconds_; }

 private:
  Limits limits_;
  int64_t steps_left_;
  int64_t bytes_left_;
  int64_t now_unix_seconds_;
  int depth_ = 0;
};

}  // namespace lockstep::text::jinja
