// Errors are values: every fault that can come from the world is a Status with a canonical code and
// one line that says what was wrong and what is allowed.
//
// This header is the only place that touches absl::string_view, so that the rest of the program
// sees std::string_view alone (Debian's Abseil is built with a string_view of its own).
//
//   Status s = invalid_argument("head_dim {} is odd; it must be even", n);
//   LOCKSTEP_RETURN_IF_ERROR(parse_header(reader));
//   LOCKSTEP_ASSIGN_OR_RETURN(auto config, parse_config(text));
//
// LOCKSTEP_CHECK is for our own bugs only and must not be reachable from input.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace lockstep {

using Status = absl::Status;
template <class T>
using StatusOr = absl::StatusOr<T>;

inline Status ok_status() { return Status(); }

namespace internal {
template <class... Args>
Status make_status(absl::StatusCode code, fmt::format_string<Args...> format, Args&&... args) {
  return Status(code, fmt::format(format, std::forward<Args>(args)...));
}
[[noreturn]] void check_failed(const char* file, int line, const char* condition);
}  // namespace internal

#define LOCKSTEP_STATUS_FACTORY(name, code)                                  \
  template <class... Args>                                                   \
  Status name(fmt::format_string<Args...> format, Args&&... args) {          \
    return internal::make_status(code, format, std::forward<Args>(args)...); \
  }
LOCKSTEP_STATUS_FACTORY(invalid_argument, absl::StatusCode::kInvalidArgument)
LOCKSTEP_STATUS_FACTORY(not_found, absl::StatusCode::kNotFound)
LOCKSTEP_STATUS_FACTORY(out_of_range, absl::StatusCode::kOutOfRange)
LOCKSTEP_STATUS_FACTORY(failed_precondition, absl::StatusCode::kFailedPrecondition)
LOCKSTEP_STATUS_FACTORY(resource_exhausted, absl::StatusCode::kResourceExhausted)
LOCKSTEP_STATUS_FACTORY(unimplemented, absl::StatusCode::kUnimplemented)
LOCKSTEP_STATUS_FACTORY(data_loss, absl::StatusCode::kDataLoss)
LOCKSTEP_STATUS_FACTORY(unavailable, absl::StatusCode::kUnavailable)
LOCKSTEP_STATUS_FACTORY(internal_error, absl::StatusCode::kInternal)
#undef LOCKSTEP_STATUS_FACTORY

// The message alone, without the code.
inline std::string message_of(const Status& status) {
  return std::string(status.message().data(), status.message().size());
}

// The same code, with `where` in front of the message: "model.safetensors: header length 7 ...".
inline Status annotate(const Status& status, std::string_view where) {
  if (status.ok()) return status;
  return Status(status.code(), fmt::format("{}: {}", where, message_of(status)));
}

}  // namespace lockstep

#define LOCKSTEP_CONCAT_INNER(a, b) a##b
#define LOCKSTEP_CONCAT(a, b) LOCKSTEP_CONCAT_INNER(a, b)

#define LOCKSTEP_RETURN_IF_ERROR(expression)                                      \
  do {                                                                            \
    if (::lockstep::Status status_ = (expression); !status_.ok()) return status_; \
  } while (false)

#define LOCKSTEP_ASSIGN_OR_RETURN(target, expression) \
  LOCKSTEP_ASSIGN_OR_RETURN_INNER(LOCKSTEP_CONCAT(statusor_, __LINE__), target, expression)
#define LOCKSTEP_ASSIGN_OR_RETURN_INNER(statusor, target, expression) \
  auto statusor = (expression);                                       \
  if (!statusor.ok()) return statusor.status();                       \
  target = std::move(statusor).value()

#define LOCKSTEP_CHECK(condition)                                                         \
  do {                                                                                    \
    if (!(condition)) ::lockstep::internal::check_failed(__FILE__, __LINE__, #condition); \
  } while (false)
