// Runs a parsed template.
//
// Thread rule: one rendering is one thread's; the template may be shared.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "text/jinja/ast.h"
#include "text/jinja/callable.h"
#include "text/jinja/runtime.h"
#include "text/jinja/traced_text.h"

namespace lockstep::text::jinja {

// Variables of a block, and the scope around it. Scopes are nested as the running code is, so a
// scope outlives all that can refer to it.
class Scope {
 public:
  explicit Scope(Scope* outer) : outer_(outer) {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  void set(const std::string& name, Value value) { variables_[name] = std::move(value); }
  // Here or around; null where there is none.
  const Value* find(std::string_view name) const;

 private:
  Scope* outer_;
  std::map<std::string, Value, std::less<>> variables_;
};

// The text that the template gives with these variables. invalid_argument naming the line,
// resource_exhausted over a limit.
StatusOr<TracedText> render(const Body& body, Scope& variables, Runtime& runtime);

}  // namespace lockstep::text::jinja
