#include "verify/matrix.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/hash.h"
#include "base/rng.h"
#include "verify/serving.h"

namespace lockstep::verify {
namespace {

using engine::Reply;
using engine::RequestFields;
using Requests = std::vector<RequestFields>;
using Replies = std::vector<Reply>;

struct Sizes {
  int requests;
  int most_prompt;  // tokens
  int most_reply;
  int elsewhere;  // of the requests, on other instruction sets and thread counts
};
constexpr Sizes kQuick{.requests = 16, .most_prompt = 80, .most_reply = 12, .elsewhere = 3};
constexpr Sizes kFull{.requests = 48, .most_prompt = 300, .most_reply = 32, .elsewhere = 8};

std::string digest_of(const Replies& replies) {
  std::string all;
  for (const Reply& reply : replies) {
    all += reply.digest;
    for (const TokenId token : reply.tokens) all += fmt::format(" {}", token.value());
  }
  return xxh3_128_hex(std::as_bytes(std::span(all)));
}

class Matrix {
 public:
  Matrix(Instance instance, const Elsewhere& elsewhere, const Options& options,
         const OnPath& on_path)
      : instance_(instance),
        elsewhere_(elsewhere),
        options_(options),
        on_path_(on_path),
        sizes_(options.quick ? kQuick : kFull) {
    sizes_.most_prompt = std::min(sizes_.most_prompt, instance.model.max_positions() / 2);
    sizes_.most_reply = std::min(sizes_.most_reply, instance.model.max_positions() / 4);
    for (int i = 0; i < sizes_.requests; ++i) requests_.push_back(request(i));
  }

  Status run() {
    LOCKSTEP_RETURN_IF_ERROR(alone());
    for (const int slots : {2, 8, 64}) LOCKSTEP_RETURN_IF_ERROR(batch(slots));
    for (const int rows : {1, 7, kPagePositions - 1, kPagePositions, kPagePositions + 1}) {
      LOCKSTEP_RETURN_IF_ERROR(chunks(rows));
    }
    LOCKSTEP_RETURN_IF_ERROR(prefix_hits());
    LOCKSTEP_RETURN_IF_ERROR(preempted());
    LOCKSTEP_RETURN_IF_ERROR(forked());
    if (options_.threads > 1) LOCKSTEP_RETURN_IF_ERROR(elsewhere("", 1));
    for (const std::string& isa : options_.isas) {
      LOCKSTEP_RETURN_IF_ERROR(elsewhere(isa, options_.threads));
    }
    return ok_status();
  }

 private:
  // Piece `i` of the text, or ids made from integers.
  std::vector<TokenId> prompt(int i, int length) const {
    const auto wanted = static_cast<size_t>(length);
    if (options_.text.size() >= wanted) {
      const size_t first = (static_cast<size_t>(i) * 97) % (options_.text.size() - wanted + 1);
      const auto begin = options_.text.begin() + static_cast<ptrdiff_t>(first);
      return {begin, begin + length};
    }
    CounterRng rng(static_cast<uint64_t>(i));
    std::vector<TokenId> out;
    const Vocabulary vocabulary = instance_.model.vocabulary();
    while (out.size() < wanted) {
      const auto id = vocabulary.admit(rng.below(static_cast<uint32_t>(vocabulary.size())));
      out.push_back(id.value());
    }
    return out;
  }

  static RequestFields fields_of(std::vector<TokenId> prompt, int reply, bool sampled,
                                 uint64_t seed) {
    RequestFields fields;
    fields.prompt = std::move(prompt);
    fields.max_tokens = reply;
    fields.digest = true;
    fields.seed = seed;
    if (sampled) fields.sampling = {.temperature = 0.9, .top_k = 100, .top_p = 0.95};
    return fields;
  }

  // Of many lengths, half of them sampled.
  RequestFields request(int i) const {
    const int length = 1 + i * 37 % sizes_.most_prompt;
    const int reply = 1 + sizes_.most_reply / 2 + i * 5 % (1 + sizes_.most_reply / 2);
    return fields_of(prompt(i, length), reply, i % 2 == 1, static_cast<uint64_t>(i));
  }

  ServingOptions room() const {
    return {.max_positions = sizes_.most_prompt + kPagePositions + 2 * sizes_.most_reply};
  }

  // Each on an engine that has served nothing before.
  StatusOr<Replies> served_alone(Instance instance, std::span<const RequestFields> requests,
                                 std::optional<ServingOptions> options = {}) const {
    Replies replies;
    for (const RequestFields& fields : requests) {
      LOCKSTEP_ASSIGN_OR_RETURN(Serving serving,
                                Serving::create(instance, options.value_or(room())));
      LOCKSTEP_ASSIGN_OR_RETURN(const auto stream, serving.submit(fields));
      LOCKSTEP_RETURN_IF_ERROR(serving.run());
      Replies one;
      engine::collect(*stream, one);
      LOCKSTEP_RETURN_IF_ERROR(one[0].error);
      replies.push_back(std::move(one[0]));
    }
    return replies;
  }

  // Measures and reports `serve`, whose replies should equal `expected`.
  template <class Serve>
  Status path(std::string name, const Replies& expected, const Serve& serve) {
    const auto start = std::chrono::steady_clock::now();
    Path out;
    out.name = std::move(name);
    LOCKSTEP_ASSIGN_OR_RETURN(const Replies replies, serve(out));
    out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    out.requests = static_cast<int>(expected.size());
    for (size_t i = 0; i < replies.size(); ++i) {
      out.equal += engine::same_bytes(replies[i], expected[i]);
    }
    out.digest = digest_of(replies);
    on_path_(out);
    return ok_status();
  }

  Status alone() {
    LOCKSTEP_ASSIGN_OR_RETURN(expected_, served_alone(instance_, requests_));
    return path("alone", expected_, [&](Path&) { return served_alone(instance_, requests_); });
  }

  Status batch(int slots) {
    const auto serve = [&](Path& out) -> StatusOr<Replies> {
      ServingOptions options = room();
      options.max_sequences = slots;
      LOCKSTEP_ASSIGN_OR_RETURN(Serving serving, Serving::create(instance_, options));
      std::vector<std::shared_ptr<engine::Stream>> streams;
      std::vector<std::shared_ptr<engine::Stream>> neighbours;
      for (int i = 0; i < sizes_.requests; ++i) {
        LOCKSTEP_ASSIGN_OR_RETURN(auto stream, serving.submit(requests_[static_cast<size_t>(i)]));
        streams.push_back(std::move(stream));
        // Others come with it, and some of them go before they are done.
        for (int j = 0; j < slots / 16 + 1; ++j) {
          LOCKSTEP_ASSIGN_OR_RETURN(auto other, serving.submit(request(1000 + 8 * i + j)));
          neighbours.push_back(std::move(other));
        }
        if (i % 2 == 0) serving.step();
        if (i % 3 == 0) neighbours[neighbours.size() / 2]->cancel();
      }
      LOCKSTEP_RETURN_IF_ERROR(serving.run());
      out.note = fmt::format("{} neighbours", neighbours.size());
      return collected(streams);
    };
    return path(fmt::format("{} at once, joining and leaving", slots), expected_, serve);
  }

  Status chunks(int rows) {
    const auto serve = [&](Path&) -> StatusOr<Replies> {
      ServingOptions options = room();
      options.max_rows = rows;
      options.max_sequences = 4;
      LOCKSTEP_ASSIGN_OR_RETURN(Serving serving, Serving::create(instance_, options));
      return served_together(serving, requests_);
    };
    return path(fmt::format("steps of at most {} row{}", rows, rows == 1 ? "" : "s"), expected_,
                serve);
  }

  // A page and more of every length, computed before by another request.
  Status prefix_hits() {
    Requests requests;
    const int most = std::min(2 * kPagePositions, sizes_.most_prompt - kPagePositions);
    const int reply = std::min(4, sizes_.most_reply);
    const std::vector<TokenId> whole = prompt(7, most + kPagePositions);
    for (int offset = 0; most > 0 && offset <= kPagePositions; ++offset) {
      std::vector<TokenId> part(whole.begin(), whole.begin() + most + offset);
      requests.push_back(fields_of(std::move(part), reply, offset % 2 == 1, 5));
    }
    LOCKSTEP_ASSIGN_OR_RETURN(const Replies expected, served_alone(instance_, requests));
    const auto serve = [&](Path& out) -> StatusOr<Replies> {
      LOCKSTEP_ASSIGN_OR_RETURN(Serving serving, Serving::create(instance_, room()));
      LOCKSTEP_RETURN_IF_ERROR(served_together(serving, std::span(requests).last(1)).status());
      auto replies = served_together(serving, requests);
      out.note = fmt::format("{} prompt tokens found", serving.status().cached_tokens);
      out.taken = serving.status().cached_tokens > 0;
      return replies;
    };
    return requests.empty() ? ok_status()
                            : path("prefix hit at every page offset", expected, serve);
  }

  // Replies that outgrow the pages that they started with, in a pool that is full from the start.
  Status preempted() {
    Requests requests;
    const int reply = std::min(kPagePositions + 8, instance_.model.max_positions() / 2);
    for (int i = 0; i < 8; ++i) {
      requests.push_back(fields_of(prompt(i, std::min(kPagePositions - 2, sizes_.most_prompt)),
                                   reply, i % 2 == 1, static_cast<uint64_t>(i)));
    }
    ServingOptions options{.max_positions = kPagePositions + reply};
    LOCKSTEP_ASSIGN_OR_RETURN(const Replies expected, served_alone(instance_, requests, options));
    options.max_sequences = 8;
    options.sequences_of_pages = 1;
    const auto serve = [&](Path& out) -> StatusOr<Replies> {
      LOCKSTEP_ASSIGN_OR_RETURN(Serving serving, Serving::create(instance_, options));
      auto replies = served_together(serving, requests);
      out.note = fmt::format("{} preemptions", serving.status().preemptions);
      out.taken = serving.status().preemptions > 0;
      return replies;
    };
    return path("too few pages, preempted and resumed", expected, serve);
  }

  Status forked() {
    constexpr int kChoices = 4;
    RequestFields one = requests_.back();
    one.sampling = {.temperature = 1.0};
    Requests separate;
    for (int i = 0; i < kChoices; ++i) {
      separate.push_back(one);
      separate.back().seed = choice_seed(*one.seed, i);
    }
    LOCKSTEP_ASSIGN_OR_RETURN(const Replies expected, served_alone(instance_, separate));
    const auto serve = [&](Path&) -> StatusOr<Replies> {
      RequestFields all = one;
      all.choices = kChoices;
      ServingOptions options = room();
      options.max_sequences = kChoices;
      LOCKSTEP_ASSIGN_OR_RETURN(Serving serving, Serving::create(instance_, options));
      LOCKSTEP_ASSIGN_OR_RETURN(const auto stream, serving.submit(all));
      LOCKSTEP_RETURN_IF_ERROR(serving.run());
      Replies replies;
      engine::collect(*stream, replies);
      return replies;
    };
    return path(fmt::format("{} choices of one prompt", kChoices), expected, serve);
  }

  // The first few requests on another set of kernels.
  Status elsewhere(const std::string& isa, int threads) {
    const auto count = std::min<size_t>(requests_.size(), static_cast<size_t>(sizes_.elsewhere));
    const Replies expected(expected_.begin(), expected_.begin() + static_cast<ptrdiff_t>(count));
    const auto serve = [&](Path&) -> StatusOr<Replies> {
      Replies replies;
      LOCKSTEP_RETURN_IF_ERROR(elsewhere_(isa, threads, [&](Instance instance) -> Status {
        LOCKSTEP_ASSIGN_OR_RETURN(replies,
                                  served_alone(instance, std::span(requests_).first(count)));
        return ok_status();
      }));
      return replies;
    };
    const std::string name = isa.empty() ? "" : fmt::format("{}, ", isa);
    return path(fmt::format("{}{} thread{}", name, threads, threads == 1 ? "" : "s"), expected,
                serve);
  }

  static StatusOr<Replies> served_together(Serving& serving,
                                           std::span<const RequestFields> requests) {
    std::vector<std::shared_ptr<engine::Stream>> streams;
    for (const RequestFields& fields : requests) {
      LOCKSTEP_ASSIGN_OR_RETURN(auto stream, serving.submit(fields));
      streams.push_back(std::move(stream));
    }
    LOCKSTEP_RETURN_IF_ERROR(serving.run());
    return collected(streams);
  }

  static StatusOr<Replies> collected(const std::vector<std::shared_ptr<engine::Stream>>& streams) {
    Replies replies;
    for (const auto& stream : streams) {
      Replies one;
      engine::collect(*stream, one);
      LOCKSTEP_RETURN_IF_ERROR(one[0].error);
      replies.push_back(std::move(one[0]));
    }
    return replies;
  }

  Instance instance_;
  const Elsewhere& elsewhere_;
  const Options& options_;
  const OnPath& on_path_;
  Sizes sizes_;
  Requests requests_;
  Replies expected_;  // of requests_, alone
};

}  // namespace

Status run_matrix(Instance instance, const Elsewhere& elsewhere, const Options& options,
                  const OnPath& on_path) {
  return Matrix(instance, elsewhere, options, on_path).run();
}

}  // namespace lockstep::verify
