#include "bench/speed.h"

#include <algorithm>

namespace lockstep::bench {
namespace {

StatusOr<std::vector<TokenId>> made_prompt(const Vocabulary& vocabulary, int tokens) {
  std::vector<TokenId> ids;
  for (int64_t i = 0; i < tokens; ++i) {
    LOCKSTEP_ASSIGN_OR_RETURN(const TokenId id,
                              vocabulary.admit((i * 7919 + 101) % vocabulary.size()));
    ids.push_back(id);
  }
  return ids;
}

}  // namespace

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  return values.size() % 2 != 0 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

StatusOr<SpeedResult> measure(engine::Runner& runner, const Vocabulary& vocabulary,
                              const SpeedOptions& options) {
  LOCKSTEP_ASSIGN_OR_RETURN(const auto prompt, made_prompt(vocabulary, options.prompt_tokens));
  engine::GenerateRequest request;
  request.max_tokens = options.generated_tokens + 1;  // the first comes with the prompt
  SpeedResult result;
  for (int i = 0; i <= options.repetitions; ++i) {
    runner.clear();
    LOCKSTEP_ASSIGN_OR_RETURN(const engine::Generation g, runner.generate(prompt, request));
    const std::string digest = runner.last_logits_digest();
    if (i == 0) {
      result.last_logits_digest = digest;
      continue;
    }
    if (digest != result.last_logits_digest) {
      return internal_error("repetition {} gave logits {}, the first {}", i, digest,
                            result.last_logits_digest);
    }
    result.prompt.push_back(options.prompt_tokens / g.prompt_seconds);
    result.generation.push_back(options.generated_tokens / g.generation_seconds);
  }
  return result;
}

}  // namespace lockstep::bench
