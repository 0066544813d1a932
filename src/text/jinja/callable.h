// Values that can be called. They borrow from the running template and stay in its variables
// (Value::list), so none outlives what it points to.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "text/jinja/ast.h"
#include "text/jinja/builtins.h"
#include "text/jinja/value.h"

namespace lockstep::text::jinja {

class Scope;

struct BoundMethod {
  Value object;
  const Builtin* method;
};
struct GlobalFunction {
  const Builtin* function;
};
// A macro or a call block's body, with the scope it was written in.
struct Closure {
  std::shared_ptr<const Macro> macro;
  Scope* scope;
};

// A running for loop: `loop` in its body.
struct LoopState {
  const For* statement;
  Scope* outer;                   // where the loop stands
  std::vector<Value> items = {};  // chosen so far
  // Chooses items until there are `count` of them or none are left: a loop's condition is asked
  // when its turn comes, since a turn may change what it reads.
  std::function<Status(size_t count)> choose = {};
  size_t index = 0;
  int depth = 1;                                  // of recursive loops
  std::optional<Value> last_seen = std::nullopt;  // by loop.changed()
};
struct LoopFunction {
  enum class Kind : uint8_t { kLoop, kCycle, kChanged };
  LoopState* state;
  Kind kind;
};

struct Callable {
  std::variant<BoundMethod, GlobalFunction, Closure, LoopFunction> target;
};

// loop.index and the like; undefined for other names. Errors are those of the loop's condition.
StatusOr<Value> loop_attribute(LoopState& state, std::string_view name);

}  // namespace lockstep::text::jinja
