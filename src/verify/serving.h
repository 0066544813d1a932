// One engine with certain limits, and requests served by it to their end.
//
// Thread rule: one thread. Ownership: borrows the instance.
#pragma once

#include <memory>
#include <vector>

#include "engine/engine.h"
#include "engine/reply.h"
#include "verify/matrix.h"

namespace lockstep::verify {

struct ServingOptions {
  int max_positions = 0;
  int max_rows = 0;  // of a step; 0: the model's
  int max_sequences = 1;
  int sequences_of_pages = 0;  // K/V room in sequences of max_positions; 0: max_sequences
};

class Serving {
 public:
  static StatusOr<Serving> create(Instance instance, const ServingOptions& options);

  StatusOr<std::shared_ptr<engine::Stream>> submit(engine::RequestFields fields);
  bool step() { return engine_->step(); }
  // Steps until nothing is left, then that every page is accounted for.
  Status run();
  engine::EngineStatus status() const { return engine_->status(); }

 private:
  explicit Serving(std::unique_ptr<engine::Engine> engine) : engine_(std::move(engine)) {}
  std::unique_ptr<engine::Engine> engine_;
};

}  // namespace lockstep::verify
