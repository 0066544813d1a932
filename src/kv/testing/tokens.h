// Token ids for tests, made from integers.
#pragma once

#include <vector>

#include "base/rng.h"
#include "base/vocabulary.h"

namespace lockstep::kv::testing {

// `count` ids of a sequence that `seed` names: equal seeds agree as far as both go.
inline std::vector<TokenId> tokens_of(int count, uint64_t seed = 0) {
  const Vocabulary vocabulary = Vocabulary::create(1000).value();
  CounterRng rng(seed);
  std::vector<TokenId> out;
  for (int i = 0; i < count; ++i) {
    out.push_back(vocabulary.admit(static_cast<int64_t>(rng.below(1000))).value());
  }
  return out;
}

}  // namespace lockstep::kv::testing
