// Serving speed: many requests at once, as a trace says, by one engine.
//
// Thread rule: one thread, which reads all streams.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "device/device.h"
#include "engine/stream.h"
#include "model/model.h"

namespace lockstep::bench {

// One request of a trace. Requests of one group begin with the same shared_tokens, as those of one
// system prompt do.
struct TraceRequest {
  int group = 0;
  int shared_tokens = 0;
  int prompt_tokens = 0;  // with the shared ones
  int reply_tokens = 0;
};

// [[group, shared, prompt, reply], ...]. invalid_argument naming the entry.
StatusOr<std::vector<TraceRequest>> parse_trace(std::string_view json);

struct ServingBenchOptions {
  std::vector<TraceRequest> trace;
  int concurrent = 16;   // requests open at a time
  int64_t kv_bytes = 0;  // 0: what `concurrent` of the longest need
};

struct ServingResult {
  int requests = 0;
  int64_t prompt_tokens = 0;
  int64_t reply_tokens = 0;
  int64_t cached_tokens = 0;  // of prompts, found in the prefix index
  int64_t preemptions = 0;
  double seconds = 0;
  std::vector<double> first_token_seconds;    // a request each, from its submission
  std::vector<double> between_token_seconds;  // a token each, but the first of a request
};

StatusOr<ServingResult> serve_trace(model::Model& model, device::Device& device,
                                    const ServingBenchOptions& options);

// The value that a share of `values` is not above. REQUIRES not empty, 0 < share <= 1.
double percentile(std::vector<double> values, double share);

}  // namespace lockstep::bench
