// The first promise, shown on a user's own machine and model: the same requests served in many ways
// (docs/numerics.md, "How it is tested"), each compared with itself alone, tokens and the bits of
// every row of logits that they were drawn from.
//
// Thread rule: one thread. Ownership: borrows what it is given.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/vocabulary.h"
#include "device/device.h"
#include "model/model.h"

namespace lockstep::verify {

// A model on a device.
struct Instance {
  device::Device& device;
  model::Model& model;
};

// Runs `use` on the model made once more, on the CPU device with this instruction set (empty: the
// best) and so many threads.
using Elsewhere = std::function<Status(const std::string& isa, int threads,
                                       const std::function<Status(Instance)>& use)>;

struct Options {
  bool quick = false;  // fewer and shorter requests
  // Prompts to take pieces from, long ones first; empty: made from integers.
  std::vector<TokenId> text;
  std::vector<std::string> isas;  // to compare
  int threads = 1;                // to compare with 1
};

// One way of serving.
struct Path {
  std::string name;  // "32 at once, joining and leaving"
  int requests = 0;
  int equal = 0;       // to the same request alone
  std::string digest;  // XXH3 over all replies; equal to that of the same requests alone
  std::string note;    // "14 preemptions"
  bool taken = true;   // the way was the one named: there were preemptions, or hits
  double seconds = 0;
  bool passed() const { return taken && requests > 0 && equal == requests; }
};

using OnPath = std::function<void(const Path&)>;

// Every path in turn. An error means that the matrix could not be run; a difference is in a Path.
Status run_matrix(Instance instance, const Elsewhere& elsewhere, const Options& options,
                  const OnPath& on_path);

}  // namespace lockstep::verify
