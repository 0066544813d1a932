#include "text/jinja/interpreter.h"

#include <algorithm>

#include "base/text.h"
#include "text/jinja/operators.h"

namespace lockstep::text::jinja {
namespace {

enum class Flow { kNext, kBreak, kContinue };

class Interpreter {
 public:
  explicit Interpreter(Runtime& runtime) : runtime_(runtime) {}

  StatusOr<Flow> execute(const Body& body, Scope& scope, TracedText& out) {
    const Runtime::Level level(runtime_);
    LOCKSTEP_RETURN_IF_ERROR(level.status());
    for (const Statement& statement : body) {
      LOCKSTEP_RETURN_IF_ERROR(runtime_.charge_steps(1));
      auto flow =
          std::visit([&](const auto& node) { return run(node, scope, out); }, statement.node);
      if (!flow.ok()) return at_line(flow.status(), statement.line);
      if (*flow != Flow::kNext) return flow;
    }
    return Flow::kNext;
  }

 private:
  // Names the innermost statement's line, once.
  Status at_line(const Status& status, int line) {
    if (std::exchange(located_, true)) return status;
    return annotate(status, fmt::format("line {}", line));
  }

  Status emit(const TracedText& text, TracedText& out) {
    const auto bytes = static_cast<int64_t>(text.size());
    LOCKSTEP_RETURN_IF_ERROR(runtime_.charge_bytes(bytes));
    if (static_cast<int64_t>(out.size()) + bytes > runtime_.limits().output_bytes) {
      return resource_exhausted("the template writes more than {} bytes",
                                runtime_.limits().output_bytes);
    }
    out.append(text);
    return ok_status();
  }

  // Statements.

  StatusOr<Flow> run(const Text& node, Scope&, TracedText& out) {
    LOCKSTEP_RETURN_IF_ERROR(emit(*node.text.if_text(), out));
    return Flow::kNext;
  }

  StatusOr<Flow> run(const Output& node, Scope& scope, TracedText& out) {
    LOCKSTEP_ASSIGN_OR_RETURN(const Value value, evaluate(node.value, scope));
    LOCKSTEP_ASSIGN_OR_RETURN(const TracedText text, runtime_.str(value));
    LOCKSTEP_RETURN_IF_ERROR(emit(text, out));
    return Flow::kNext;
  }

  StatusOr<Flow> run(const If& node, Scope& scope, TracedText& out) {
    for (const auto& [condition, body] : node.branches) {
      LOCKSTEP_ASSIGN_OR_RETURN(const Value value, evaluate(condition, scope));
      if (value.truth()) return execute(body, scope, out);
    }
    return execute(node.otherwise, scope, out);
  }

  StatusOr<Flow> run(const For& node, Scope& scope, TracedText& out) {
    LOCKSTEP_ASSIGN_OR_RETURN(const Value value, evaluate(node.items, scope));
    return loop(node, value, scope, /*depth=*/1, out);
  }

  // A break or continue in the else body is the surrounding loop's.
  StatusOr<Flow> loop(const For& node, const Value& value, Scope& outer, int depth,
                      TracedText& out) {
    LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<Value> candidates, runtime_.iterate(value));
    LoopState state{.statement = &node, .outer = &outer, .depth = depth};
    size_t passed = 0;  // of the candidates
    state.choose = [&](size_t count) -> Status {
      for (; state.items.size() < count && passed < candidates.size(); ++passed) {
        LOCKSTEP_ASSIGN_OR_RETURN(const bool chosen, is_chosen(node, candidates[passed], outer));
        if (chosen) state.items.push_back(candidates[passed]);
      }
      return ok_status();
    };
    const Value loop_value = Value::callable(
        std::make_shared<Callable>(Callable{LoopFunction{&state, LoopFunction::Kind::kLoop}}));
    bool whole = false;  // whether the body ran to its end at least once
    for (;; ++state.index) {
      LOCKSTEP_RETURN_IF_ERROR(runtime_.charge_steps(1));
      LOCKSTEP_RETURN_IF_ERROR(state.choose(state.index + 1));
      if (state.index == state.items.size()) break;
      Scope scope(&outer);
      scope.set("loop", loop_value);
      LOCKSTEP_RETURN_IF_ERROR(assign(node.target, state.items[state.index], scope));
      LOCKSTEP_ASSIGN_OR_RETURN(const Flow flow, execute(node.body, scope, out));
      if (flow == Flow::kBreak) break;
      whole |= flow == Flow::kNext;
    }
    // jinja2's rule: the else body runs when no turn ended by itself, so after a first break too.
    return whole ? Flow::kNext : execute(node.otherwise, outer, out);
  }

  // Whether the loop's condition, if it has one, holds for the item.
  StatusOr<bool> is_chosen(const For& node, const Value& item, Scope& outer) {
    if (node.condition == nullptr) return true;
    LOCKSTEP_RETURN_IF_ERROR(runtime_.charge_steps(1));
    Scope scope(&outer);
    LOCKSTEP_RETURN_IF_ERROR(assign(node.target, item, scope));
    LOCKSTEP_ASSIGN_OR_RETURN(const Value condition, evaluate(node.condition, scope));
    return condition.truth();
  }

  StatusOr<Flow> run(const Set& node, Scope& scope, TracedText&) {
    LOCKSTEP_ASSIGN_OR_RETURN(const Value value, evaluate(node.value, scope));
    LOCKSTEP_RETURN_IF_ERROR(assign(node.target, value, scope));
    return Flow::kNext;
  }

  StatusOr<Flow> run(const SetBlock& node, Scope& scope, TracedText&) {
    LOCKSTEP_ASSIGN_OR_RETURN(const Value value, caught(node.body, node.filters, scope));
    LOCKSTEP_RETURN_IF_ERROR(assign(node.target, value, scope));
    return Flow::kNext;
  }

  StatusOr<Flow> run(const FilterBlock& node, Scope& scope, TracedText& out) {
    LOCKSTEP_ASSIGN_OR_RETURN(const Value value, caught(node.body, node.filters, scope));
    if (value.if_text() == nullptr) {
      return invalid_argument("a filter block gives {}; expected a string", value.kind());
    }
    LOCKSTEP_RETURN_IF_ERROR(emit(*value.if_text(), out));
    return Flow::kNext;
  }

  // What a body writes, through filters.
  StatusOr<Value> caught(const Body& body, const ExpressionPtr& filters, Scope& outer) {
    Scope scope(&outer);
    TracedText text;
    LOCKSTEP_RETURN_IF_ERROR(execute(body, scope, text).status());
    LOCKSTEP_ASSIGN_OR_RETURN(Value value, runtime_.text(std::move(text)));
    if (filters == nullptr) return value;
    filter_block_text_ = std::move(value);
    return evaluate(filters, outer);
  }

  StatusOr<Flow> run(const std::shared_ptr<const Macro>& macro, Scope& scope, TracedText&) {
    scope.set(macro->name,
              Value::callable(std::make_shared<Callable>(Callable{Closure{macro, &scope}})));
    return Flow::kNext;
  }

  StatusOr<Flow> run(const CallBlock& node, Scope& scope, TracedText& out) {
    const Call& call = std::get<Call>(node.call->node);
    LOCKSTEP_ASSIGN_OR_RETURN(const Value callee, evaluate(call.callee, scope));
    LOCKSTEP_ASSIGN_OR_RETURN(Arguments arguments, collect(call.arguments, scope));
    arguments.keywords.emplace_back(
        TracedText("caller", Origin::kTemplate),
        Value::callable(std::make_shared<Callable>(Callable{Closure{node.caller, &scope}})));
    LOCKSTEP_ASSIGN_OR_RETURN(const Value value, invoke(callee, arguments));
    LOCKSTEP_ASSIGN_OR_RETURN(const TracedText text, runtime_.str(value));
    LOCKSTEP_RETURN_IF_ERROR(emit(text, out));
    return Flow::kNext;
  }

  StatusOr<Flow> run(const With& node, Scope& outer, TracedText& out) {
    Scope scope(&outer);
    for (const auto& [target, expression] : node.variables) {
      LOCKSTEP_ASSIGN_OR_RETURN(const Value value, evaluate(expression, outer));
      LOCKSTEP_RETURN_IF_ERROR(assign(target, value, scope));
    }
    return execute(node.body, scope, out);
  }

  StatusOr<Flow> run(const Break&, Scope&, TracedText&) { return Flow::kBreak; }
  StatusOr<Flow> run(const Continue&, Scope&, TracedText&) { return Flow::kContinue; }

  Status assign(const Target& target, const Value& value, Scope& scope) {
    if (!target.unpack) return assign(target.variables[0], value, scope);
    LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<Value> items, runtime_.iterate(value));
    if (items.size() != target.variables.size()) {
      return invalid_argument("{} items for {} variables", items.size(), target.variables.size());
    }
    for (size_t i = 0; i < items.size(); ++i) {
      LOCKSTEP_RETURN_IF_ERROR(assign(target.variables[i], items[i], scope));
    }
    return ok_status();
  }

  Status assign(const Target::Variable& variable, const Value& value, Scope& scope) {
    LOCKSTEP_RETURN_IF_ERROR(runtime_.charge_bytes(128));
    if (variable.field.empty()) {
      scope.set(variable.name, value);
      return ok_status();
    }
    const Value* found = scope.find(variable.name);
    Namespace* space = found == nullptr ? nullptr : found->if_namespace();
    if (space == nullptr) {
      return invalid_argument("'{}' is not a namespace, so '{}.{}' cannot be set", variable.name,
                              variable.name, variable.field);
    }
    LOCKSTEP_RETURN_IF_ERROR(check_storable(value));
    space->fields[variable.field] = value;
    return ok_status();
  }

  // Expressions.

  StatusOr<Value> evaluate(const ExpressionPtr& expression, Scope& scope) {
    const Runtime::Level level(runtime_);
    LOCKSTEP_RETURN_IF_ERROR(level.status());
    LOCKSTEP_RETURN_IF_ERROR(runtime_.charge_steps(1));
    return std::visit([&](const auto& node) { return value_of(node, scope); }, expression->node);
  }

  // None for a part that is not there.
  StatusOr<Value> evaluate_optional(const ExpressionPtr& expression, Scope& scope) {
    if (expression == nullptr) return Value();
    return evaluate(expression, scope);
  }

  StatusOr<std::vector<Value>> evaluate_all(const std::vector<ExpressionPtr>& list, Scope& scope) {
    std::vector<Value> values;
    for (const ExpressionPtr& expression : list) {
      LOCKSTEP_ASSIGN_OR_RETURN(Value value, evaluate(expression, scope));
      values.push_back(std::move(value));
    }
    return values;
  }

  StatusOr<Value> value_of(const Literal& node, Scope&) { return node.value; }

  StatusOr<Value> value_of(const Name& node, Scope& scope) {
    if (const Value* value = scope.find(node.name)) return *value;
    if (const Builtin* function = find_global(node.name)) {
      return Value::callable(std::make_shared<Callable>(Callable{GlobalFunction{function}}));
    }
    return Value::undefined(fmt::format("'{}'", node.name));
  }

  StatusOr<Value> value_of(const SequenceDisplay& node, Scope& scope) {
    LOCKSTEP_ASSIGN_OR_RETURN(std::vector<Value> items, evaluate_all(node.items, scope));
    return runtime_.sequence(std::move(items),
                             node.is_tuple ? SequenceKind::kTuple : SequenceKind::kList);
  }

  StatusOr<Value> value_of(const DictDisplay& node, Scope& scope) {
    std::vector<std::pair<Value, Value>> entries;
    for (const auto& [key, value] : node.entries) {
      LOCKSTEP_ASSIGN_OR_RETURN(Value k, evaluate(key, scope));
      LOCKSTEP_ASSIGN_OR_RETURN(Value v, evaluate(value, scope));
      entries.emplace_back(std::move(k), std::move(v));
    }
    return runtime_.dict(std::move(entries));
  }

  StatusOr<Value> value_of(const Unary& node, Scope& scope) {
    LOCKSTEP_ASSIGN_OR_RETURN(const Value operand, evaluate(node.operand, scope));
    return apply_unary(node.op, operand);
  }

  StatusOr<Value> value_of(const Binary& node, Scope& scope) {
    LOCKSTEP_ASSIGN_OR_RETURN(Value left, evaluate(node.left, scope));
    if (node.op == BinaryOperator::kAnd || node.op == BinaryOperator::kOr) {
      if (left.truth() == (node.op == BinaryOperator::kOr)) return left;
      return evaluate(node.right, scope);
    }
    LOCKSTEP_ASSIGN_OR_RETURN(const Value right, evaluate(node.right, scope));
    return apply_binary(runtime_, node.op, left, right);
  }

  StatusOr<Value> value_of(const Concatenation& node, Scope& scope) {
    TracedText joined;
    for (const ExpressionPtr& part : node.parts) {
      LOCKSTEP_ASSIGN_OR_RETURN(const Value value, evaluate(part, scope));
      LOCKSTEP_ASSIGN_OR_RETURN(const TracedText text, runtime_.str(value));
      joined.append(text);
    }
    return runtime_.text(std::move(joined));
  }

  StatusOr<Value> value_of(const ComparisonChain& node, Scope& scope) {
    LOCKSTEP_ASSIGN_OR_RETURN(Value left, evaluate(node.first, scope));
    for (const auto& [op, operand] : node.rest) {
      LOCKSTEP_ASSIGN_OR_RETURN(Value right, evaluate(operand, scope));
      LOCKSTEP_ASSIGN_OR_RETURN(const bool holds, compare(runtime_, op, left, right));
      if (!holds) return Value::boolean(false);
      left = std::move(right);
    }
    return Value::boolean(true);
  }

  StatusOr<Value> value_of(const Attribute& node, Scope& scope) {
    LOCKSTEP_ASSIGN_OR_RETURN(const Value object, evaluate(node.object, scope));
    return get_attribute(runtime_, object, node.name);
  }

  StatusOr<Value> value_of(const Item& node, Scope& scope) {
    LOCKSTEP_ASSIGN_OR_RETURN(const Value object, evaluate(node.object, scope));
    LOCKSTEP_ASSIGN_OR_RETURN(const Value key, evaluate(node.key, scope));
    return get_item(runtime_, object, key);
  }

  StatusOr<Value> value_of(const Slice& node, Scope& scope) {
    LOCKSTEP_ASSIGN_OR_RETURN(const Value object, evaluate(node.object, scope));
    LOCKSTEP_ASSIGN_OR_RETURN(const Value start, evaluate_optional(node.start, scope));
    LOCKSTEP_ASSIGN_OR_RETURN(const Value stop, evaluate_optional(node.stop, scope));
    LOCKSTEP_ASSIGN_OR_RETURN(const Value step, evaluate_optional(node.step, scope));
    return get_slice(runtime_, object, start, stop, step);
  }

  StatusOr<Value> value_of(const Conditional& node, Scope& scope) {
    LOCKSTEP_ASSIGN_OR_RETURN(const Value condition, evaluate(node.condition, scope));
    if (condition.truth()) return evaluate(node.yes, scope);
    if (node.no != nullptr) return evaluate(node.no, scope);
    return Value::undefined("the value of an if without else");
  }

  StatusOr<Value> value_of(const FilterCall& node, Scope& scope) {
    Value input = std::exchange(filter_block_text_, Value());
    if (node.input != nullptr) {
      filter_block_text_ = std::move(input);  // for the filter at the chain's start
      LOCKSTEP_ASSIGN_OR_RETURN(input, evaluate(node.input, scope));
    }
    LOCKSTEP_ASSIGN_OR_RETURN(const Arguments arguments, collect(node.arguments, scope));
    return named(node.filter->function(runtime_, input, arguments), "filter", *node.filter);
  }

  StatusOr<Value> value_of(const TestCall& node, Scope& scope) {
    LOCKSTEP_ASSIGN_OR_RETURN(const Value input, evaluate(node.input, scope));
    LOCKSTEP_ASSIGN_OR_RETURN(const Arguments arguments, collect(node.arguments, scope));
    return named(node.test->function(runtime_, input, arguments), "test", *node.test);
  }

  StatusOr<Value> value_of(const Call& node, Scope& scope) {
    LOCKSTEP_ASSIGN_OR_RETURN(const Value callee, evaluate(node.callee, scope));
    LOCKSTEP_ASSIGN_OR_RETURN(const Arguments arguments, collect(node.arguments, scope));
    return invoke(callee, arguments);
  }

  // Calls.

  StatusOr<Arguments> collect(const CallArguments& written, Scope& scope) {
    Arguments arguments;
    LOCKSTEP_ASSIGN_OR_RETURN(arguments.positional, evaluate_all(written.positional, scope));
    for (const auto& [name, expression] : written.keywords) {
      LOCKSTEP_ASSIGN_OR_RETURN(Value value, evaluate(expression, scope));
      arguments.keywords.emplace_back(TracedText(name, Origin::kTemplate), std::move(value));
    }
    if (written.more_positional != nullptr) {
      LOCKSTEP_ASSIGN_OR_RETURN(const Value list, evaluate(written.more_positional, scope));
      LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<Value> items, runtime_.iterate(list));
      arguments.positional.insert(arguments.positional.end(), items.begin(), items.end());
    }
    if (written.more_keywords != nullptr) {
      LOCKSTEP_ASSIGN_OR_RETURN(const Value named, evaluate(written.more_keywords, scope));
      const Dict* dict = named.if_dict();
      if (dict == nullptr) return invalid_argument("** of {}; expected a dict", named.kind());
      for (const auto& [key, value] : dict->entries) {
        if (key.if_text() == nullptr) return invalid_argument("** of a dict with other keys");
        arguments.keywords.emplace_back(*key.if_text(), value);
      }
      LOCKSTEP_RETURN_IF_ERROR(runtime_.charge_for(named));
    }
    return arguments;
  }

  static StatusOr<Value> named(StatusOr<Value> result, std::string_view what,
                               const Builtin& builtin) {
    if (result.ok()) return result;
    return annotate(result.status(), fmt::format("{} '{}'", what, builtin.name));
  }

  StatusOr<Value> invoke(const Value& callee, const Arguments& arguments) {
    if (callee.is_undefined()) return undefined_error(callee);
    const Callable* callable = callee.if_callable();
    if (callable == nullptr) return invalid_argument("{} cannot be called", callee.kind());
    if (const auto* bound = std::get_if<BoundMethod>(&callable->target)) {
      return named(bound->method->function(runtime_, bound->object, arguments), "method",
                   *bound->method);
    }
    if (const auto* global = std::get_if<GlobalFunction>(&callable->target)) {
      return global->function->function(runtime_, Value(), arguments);
    }
    if (const auto* closure = std::get_if<Closure>(&callable->target)) {
      return call_macro(*closure->macro, *closure->scope, arguments);
    }
    return call_loop(std::get<LoopFunction>(callable->target), arguments);
  }

  StatusOr<Value> call_macro(const Macro& macro, Scope& outer, const Arguments& arguments) {
    const CallDepth depth(*this);
    LOCKSTEP_RETURN_IF_ERROR(depth.status());
    Scope scope(&outer);
    LOCKSTEP_RETURN_IF_ERROR(bind(macro, arguments, scope));
    TracedText text;
    LOCKSTEP_RETURN_IF_ERROR(execute(macro.body, scope, text).status());
    return runtime_.text(std::move(text));
  }

  Status bind(const Macro& macro, const Arguments& arguments, Scope& scope) {
    const size_t count = macro.parameters.size();
    std::vector<const Value*> given(count);
    std::vector<Value> more_positional;
    for (size_t i = 0; i < arguments.positional.size(); ++i) {
      if (i < count) {
        given[i] = &arguments.positional[i];
      } else {
        more_positional.push_back(arguments.positional[i]);
      }
    }
    if (macro.takes_caller) scope.set("caller", Value::undefined("'caller'"));
    std::vector<std::pair<Value, Value>> more_keywords;
    for (const auto& [keyword, value] : arguments.keywords) {
      const std::string& name = keyword.bytes();
      const auto at = std::ranges::find(macro.parameters, name) - macro.parameters.begin();
      if (at < static_cast<ptrdiff_t>(count)) {
        if (given[at] != nullptr) {
          return invalid_argument("macro '{}': parameter '{}' is given twice", macro.name, name);
        }
        given[at] = &value;
      } else if (name == "caller" && macro.takes_caller) {
        scope.set(name, value);
      } else {
        more_keywords.emplace_back(Value::text(keyword), value);
      }
    }
    if ((!more_positional.empty() && !macro.takes_more_positional) ||
        (!more_keywords.empty() && !macro.takes_more_keywords)) {
      return invalid_argument("macro '{}' is given arguments that it does not take", macro.name);
    }
    if (macro.takes_more_positional) {
      LOCKSTEP_ASSIGN_OR_RETURN(
          Value list, runtime_.sequence(std::move(more_positional), SequenceKind::kTuple));
      scope.set("varargs", std::move(list));
    }
    if (macro.takes_more_keywords) {
      LOCKSTEP_ASSIGN_OR_RETURN(Value dict, runtime_.dict(std::move(more_keywords)));
      scope.set("kwargs", std::move(dict));
    }
    return set_parameters(macro, given, scope);
  }

  // A default may read the parameters before it.
  Status set_parameters(const Macro& macro, const std::vector<const Value*>& given, Scope& scope) {
    const size_t without_default = macro.parameters.size() - macro.defaults.size();
    for (size_t i = 0; i < given.size(); ++i) {
      const std::string& name = macro.parameters[i];
      if (given[i] != nullptr) {
        scope.set(name, *given[i]);
      } else if (i >= without_default) {
        LOCKSTEP_ASSIGN_OR_RETURN(Value value,
                                  evaluate(macro.defaults[i - without_default], scope));
        scope.set(name, std::move(value));
      } else {
        scope.set(name, Value::undefined(fmt::format("parameter '{}'", name)));
      }
    }
    return ok_status();
  }

  StatusOr<Value> call_loop(const LoopFunction& function, const Arguments& arguments) {
    LoopState& state = *function.state;
    switch (function.kind) {
      case LoopFunction::Kind::kCycle:
        if (arguments.positional.empty()) return invalid_argument("loop.cycle of nothing");
        return arguments.positional[state.index % arguments.positional.size()];
      case LoopFunction::Kind::kChanged: {
        LOCKSTEP_ASSIGN_OR_RETURN(const Value now,
                                  runtime_.sequence(arguments.positional, SequenceKind::kTuple));
        LOCKSTEP_RETURN_IF_ERROR(runtime_.charge_for(now));
        const bool same = state.last_seen.has_value() && equal(*state.last_seen, now);
        state.last_seen = now;
        return Value::boolean(!same);
      }
      case LoopFunction::Kind::kLoop:
        break;
    }
    if (!state.statement->recursive) return invalid_argument("a loop that is not recursive");
    const CallDepth depth(*this);
    LOCKSTEP_RETURN_IF_ERROR(depth.status());
    LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p, Parameters::bind(arguments, {"iterable"}));
    LOCKSTEP_ASSIGN_OR_RETURN(const Value items, p.value(0));
    TracedText text;
    const auto flow = loop(*state.statement, items, *state.outer, state.depth + 1, text);
    LOCKSTEP_RETURN_IF_ERROR(flow.status());
    return runtime_.text(std::move(text));
  }

  class CallDepth {
   public:
    explicit CallDepth(Interpreter& interpreter) : interpreter_(interpreter) {
      ++interpreter_.call_depth_;
    }
    ~CallDepth() { --interpreter_.call_depth_; }
    CallDepth(const CallDepth&) = delete;
    CallDepth& operator=(const CallDepth&) = delete;
    Status status() const {
      const int most = interpreter_.runtime_.limits().call_depth;
      if (interpreter_.call_depth_ <= most) return ok_status();
      return resource_exhausted("the template's calls nest more than {} levels", most);
    }

   private:
    Interpreter& interpreter_;
  };

  Runtime& runtime_;
  Value filter_block_text_;  // what a filter without input filters
  int call_depth_ = 0;
  bool located_ = false;
};

}  // namespace

const Value* Scope::find(std::string_view name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer_) {
    const auto found = scope->variables_.find(name);
    if (found != scope->variables_.end()) return &found->second;
  }
  return nullptr;
}

StatusOr<Value> loop_attribute(LoopState& state, std::string_view name) {
  const auto number = [](size_t n) { return Value::integer(static_cast<int64_t>(n)); };
  const auto function = [&](LoopFunction::Kind kind) {
    return Value::callable(std::make_shared<Callable>(Callable{LoopFunction{&state, kind}}));
  };
  const size_t index = state.index;
  // What looks ahead makes the loop choose ahead, as in jinja2.
  const bool to_the_end = name == "revindex" || name == "revindex0" || name == "length";
  const bool to_the_next = name == "last" || name == "nextitem";
  if (to_the_end) LOCKSTEP_RETURN_IF_ERROR(state.choose(SIZE_MAX));
  if (to_the_next) LOCKSTEP_RETURN_IF_ERROR(state.choose(index + 2));
  const size_t count = state.items.size();
  if (name == "index") return number(index + 1);
  if (name == "index0") return number(index);
  if (name == "revindex") return number(count - index);
  if (name == "revindex0") return number(count - index - 1);
  if (name == "first") return Value::boolean(index == 0);
  if (name == "last") return Value::boolean(index + 1 == count);
  if (name == "length") return number(count);
  if (name == "depth") return number(static_cast<size_t>(state.depth));
  if (name == "depth0") return number(static_cast<size_t>(state.depth) - 1);
  if (name == "cycle") return function(LoopFunction::Kind::kCycle);
  if (name == "changed") return function(LoopFunction::Kind::kChanged);
  if (name == "previtem" && index > 0) return state.items[index - 1];
  if (name == "nextitem" && index + 1 < count) return state.items[index + 1];
  return Value::undefined(fmt::format("loop.{}", name));
}

StatusOr<TracedText> render(const Body& body, Scope& variables, Runtime& runtime) {
  TracedText out;
  LOCKSTEP_RETURN_IF_ERROR(Interpreter(runtime).execute(body, variables, out).status());
  return out;
}

}  // namespace lockstep::text::jinja
