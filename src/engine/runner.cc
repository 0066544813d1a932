#include "engine/runner.h"

#include <algorithm>
#include <chrono>

#include "base/checked.h"
#include "base/hash.h"

namespace lockstep::engine {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool is_cancelled(const GenerateRequest& request) {
  return request.cancelled != nullptr && request.cancelled->load(std::memory_order_relaxed);
}

// Why a reply ends with its last token, as far as the request says.
std::optional<FinishReason> finish_of(const GenerateRequest& request,
                                      std::span<const TokenId> tokens) {
  const auto& stops = request.stop_ids;
  if (std::ranges::find(stops, tokens.back()) != stops.end()) return FinishReason::kStop;
  if (is_cancelled(request)) return FinishReason::kCancelled;
  if (tokens.size() == static_cast<size_t>(request.max_tokens)) return FinishReason::kLength;
  return std::nullopt;
}

}  // namespace

double Generation::tokens_per_second() const {
  if (tokens.size() < 2 || generation_seconds <= 0) return 0;
  return static_cast<double>(tokens.size() - 1) / generation_seconds;
}

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
  }
  return "";
}

StatusOr<std::unique_ptr<Runner>> Runner::create(model::Model& model, device::Device& device,
                                                 const RunnerOptions& options) {
  RunnerOptions checked = options;
  if (!(1 <= options.max_positions && options.max_positions <= model.max_positions())) {
    return invalid_argument("a context of {} positions is outside [1, {}]", options.max_positions,
                            model.max_positions());
  }
  if (options.chunk_rows == 0) checked.chunk_rows = model.options().max_rows;
  if (!(1 <= checked.chunk_rows && checked.chunk_rows <= model.options().max_rows)) {
    return invalid_argument("a chunk of {} rows is outside [1, {}]", options.chunk_rows,
                            model.options().max_rows);
  }
  std::unique_ptr<Runner> runner(new Runner(model, device, checked));
  const std::vector<int> pages(model.state_layout().groups.size(),
                               static_cast<int>(ceil_div(checked.max_positions, kPagePositions)));
  LOCKSTEP_ASSIGN_OR_RETURN(runner->pool_, device.alloc_pages(model.state_layout(), pages));
  for (const int count : pages) runner->allocators_.emplace_back(count);
  runner->pages_.emplace(runner->allocators_);
  return runner;
}

Runner::Runner(model::Model& model, device::Device& device, const RunnerOptions& options)
    : model_(model),
      device_(device),
      options_(options),
      row_(static_cast<size_t>(model.vocabulary().size())) {}

void Runner::clear() { keep_prefix({}, 0); }

void Runner::keep_prefix(std::span<const TokenId> ids, size_t most) {
  const size_t limit = std::min({computed_.size(), ids.size(), most});
  size_t kept = 0;
  while (kept < limit && computed_[kept] == ids[kept]) ++kept;
  computed_.erase(computed_.begin() + static_cast<ptrdiff_t>(kept), computed_.end());
  pages_->trim(static_cast<int>(kept));
}

Status Runner::step(std::span<const TokenId> tokens, Rows logits, const SamplingParams* sampling) {
  const int first = static_cast<int>(computed_.size());
  const int count = static_cast<int>(tokens.size());
  LOCKSTEP_RETURN_IF_ERROR(pages_->grow(first + count));

  std::vector<device::StepRow> rows;
  std::vector<int32_t> logit_rows;
  for (int i = 0; i < count; ++i) {
    const TokenId token = tokens[static_cast<size_t>(i)];
    rows.push_back({.sequence = 0, .position = first + i, .token = device::RowToken::of(token)});
    if (logits == Rows::kEvery || (logits == Rows::kLast && i == count - 1))
      logit_rows.push_back(i);
  }
  const device::StepSequence sequence = {pages_->tables()};
  device::StepInput input = {
      .rows = rows, .sequences = std::span(&sequence, 1), .logit_rows = logit_rows, .sampling = {}};
  if (sampling != nullptr) input.sampling = std::span(sampling, 1);

  const device::StepView& view = device_.begin_step(input);
  model_.forward(view, *pool_);
  if (sampling != nullptr) device_.sample(view, model_.logits_view());
  LOCKSTEP_RETURN_IF_ERROR(device_.end_step());
  computed_.insert(computed_.end(), tokens.begin(), tokens.end());
  return ok_status();
}

std::span<const float> Runner::read_row(int logit_row) {
  device_.read(model_.logits(), logit_row, row_);
  return row_;
}

std::string Runner::row_digest() { return xxh3_128_hex(std::as_bytes(read_row(0))); }

Status Runner::score(std::span<const TokenId> ids, const OnRow& on_row) {
  if (ids.size() > static_cast<size_t>(options_.max_positions)) {
    return invalid_argument("{} tokens do not fit a context of {}", ids.size(),
                            options_.max_positions);
  }
  clear();
  const auto chunk =
      static_cast<size_t>(std::min(options_.chunk_rows, model_.options().max_logit_rows));
  while (computed_.size() < ids.size()) {
    const size_t first = computed_.size();
    const size_t count = std::min(chunk, ids.size() - first);
    LOCKSTEP_RETURN_IF_ERROR(step(ids.subspan(first, count), Rows::kEvery, nullptr));
    for (size_t i = 0; i < count; ++i) {
      LOCKSTEP_RETURN_IF_ERROR(on_row(static_cast<int>(first + i), read_row(static_cast<int>(i))));
    }
  }
  return ok_status();
}

Status Runner::prefill(std::span<const TokenId> prompt, const GenerateRequest& request) {
  const auto chunk = static_cast<size_t>(options_.chunk_rows);
  while (computed_.size() < prompt.size() && !is_cancelled(request)) {
    const size_t first = computed_.size();
    const size_t count = std::min(chunk, prompt.size() - first);
    const bool last = first + count == prompt.size();
    LOCKSTEP_RETURN_IF_ERROR(step(prompt.subspan(first, count), last ? Rows::kLast : Rows::kNone,
                                  last ? &request.sampling : nullptr));
  }
  return ok_status();
}

Status Runner::decode(const GenerateRequest& request, const OnToken& on_token, Generation& out) {
  std::string row_digests;
  while (true) {
    if (request.digest) row_digests += row_digest();
    const TokenId token = device_.sampled()[0];
    out.tokens.push_back(token);
    if (on_token) on_token(token);
    if (const auto finish = finish_of(request, out.tokens); finish.has_value()) {
      out.finish = *finish;
      break;
    }
    if (computed_.size() == static_cast<size_t>(options_.max_positions)) {
      out.finish = FinishReason::kContext;
      break;
    }
    LOCKSTEP_RETURN_IF_ERROR(step(std::span(&token, 1), Rows::kLast, &request.sampling));
  }
  if (request.digest) out.digest = xxh3_128_hex(std::as_bytes(std::span(row_digests)));
  return ok_status();
}

StatusOr<Generation> Runner::generate(std::span<const TokenId> prompt,
                                      const GenerateRequest& request, const OnToken& on_token) {
  if (prompt.empty()) return invalid_argument("the prompt is empty; at least one token is needed");
  if (request.max_tokens < 1) {
    return invalid_argument("{} tokens to generate; at least 1 is needed", request.max_tokens);
  }
  if (prompt.size() > static_cast<size_t>(options_.max_positions)) {
    return invalid_argument("a prompt of {} tokens does not fit a context of {}", prompt.size(),
                            options_.max_positions);
  }

  Generation out;
  const auto start = Clock::now();
  keep_prefix(prompt, prompt.size() - 1);  // the last token's logits are needed
  out.reused_tokens = static_cast<int>(computed_.size());
  LOCKSTEP_RETURN_IF_ERROR(prefill(prompt, request));
  out.prompt_seconds = seconds_since(start);
  if (computed_.size() < prompt.size()) {
    out.finish = FinishReason::kCancelled;
    return out;
  }
  const auto first_token = Clock::now();
  LOCKSTEP_RETURN_IF_ERROR(decode(request, on_token, out));
  out.generation_seconds = seconds_since(first_token);
  return out;
}

}  // namespace lockstep::engine
