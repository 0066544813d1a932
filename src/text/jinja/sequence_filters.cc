// Filters over sequences and dicts, and those that choose between values.
#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "base/text.h"
#include "text/jinja/filters.h"
#include "text/jinja/operators.h"
#include "text/jinja/runtime.h"
#include "text/jinja/text_ops.h"

namespace lockstep::text::jinja {
namespace {

using Result = StatusOr<Value>;
using Values = std::vector<Value>;

Result length(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_RETURN_IF_ERROR(Parameters::bind(arguments, {}).status());
  if (subject.is_undefined()) return Value::integer(0);
  if (const Dict* dict = subject.if_dict()) {
    return Value::integer(static_cast<int64_t>(dict->entries.size()));
  }
  if (const TracedText* text = subject.if_text()) {
    LOCKSTEP_RETURN_IF_ERROR(runtime.charge_for(subject));
    return Value::integer(code_points(text->bytes()));
  }
  const Sequence* sequence = subject.if_sequence();
  if (sequence == nullptr || sequence->kind == SequenceKind::kStream) {
    return invalid_argument("{} has no length", sequence == nullptr ? subject.kind() : "a stream");
  }
  return Value::integer(static_cast<int64_t>(sequence->items.size()));
}

Result default_value(Runtime&, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p,
                            Parameters::bind(arguments, {"default_value", "boolean"}));
  const bool missing = subject.is_undefined() || (p.truth_or(1, false) && !subject.truth());
  return missing ? p.value_or(0, Value::text("", Origin::kTemplate)) : subject;
}

Result to_list(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_RETURN_IF_ERROR(Parameters::bind(arguments, {}).status());
  LOCKSTEP_ASSIGN_OR_RETURN(Values items, runtime.iterate(subject));
  return runtime.list(std::move(items));
}

Result first(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_RETURN_IF_ERROR(Parameters::bind(arguments, {}).status());
  LOCKSTEP_ASSIGN_OR_RETURN(const Values items, runtime.iterate(subject));
  return items.empty() ? Value::undefined("the first of no items") : items.front();
}

Result last(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_RETURN_IF_ERROR(Parameters::bind(arguments, {}).status());
  LOCKSTEP_ASSIGN_OR_RETURN(const Values items, runtime.iterate(subject));
  return items.empty() ? Value::undefined("the last of no items") : items.back();
}

Result reverse(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_RETURN_IF_ERROR(Parameters::bind(arguments, {}).status());
  if (subject.if_text() != nullptr) {
    return get_slice(runtime, subject, Value(), Value(), Value::integer(-1));
  }
  LOCKSTEP_ASSIGN_OR_RETURN(const Values items, runtime.iterate(subject));
  return runtime.sequence(Values(items.rbegin(), items.rend()), SequenceKind::kStream);
}

Result join(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p, Parameters::bind(arguments, {"d", "attribute"}));
  LOCKSTEP_ASSIGN_OR_RETURN(const TracedText separator,
                            runtime.str(p.value_or(0, Value::text("", Origin::kTemplate))));
  LOCKSTEP_ASSIGN_OR_RETURN(const Values items, runtime.iterate(subject));
  TracedText out;
  for (size_t i = 0; i < items.size(); ++i) {
    Value item = items[i];
    if (p.given(1)) {
      LOCKSTEP_ASSIGN_OR_RETURN(item, get_path(runtime, item, *p.at(1)));
    }
    LOCKSTEP_RETURN_IF_ERROR(runtime.charge_bytes(static_cast<int64_t>(separator.size())));
    LOCKSTEP_ASSIGN_OR_RETURN(const TracedText text, runtime.str(item));
    if (i > 0) out.append(separator);
    out.append(text);
  }
  return runtime.text(std::move(out));
}

Result items(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_RETURN_IF_ERROR(Parameters::bind(arguments, {}).status());
  if (subject.is_undefined()) return runtime.sequence({}, SequenceKind::kStream);
  const Builtin* method = find_method(subject, "items");
  if (method == nullptr) return invalid_argument("items of {}; expected a dict", subject.kind());
  return method->function(runtime, subject, arguments);
}

Result attribute(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p, Parameters::bind(arguments, {"name"}));
  LOCKSTEP_ASSIGN_OR_RETURN(const TracedText name, p.text(0));
  // A dict's methods alone: its keys are items.
  if (subject.if_dict() != nullptr && find_method(subject, name.bytes()) == nullptr) {
    return Value::undefined(fmt::format("attribute {} of a dict", quote_text(name.bytes())));
  }
  return get_attribute(runtime, subject, name.bytes());
}

// Sort keys: strings in lower case unless case matters.
Result sort_key(Runtime& runtime, const Value& value, bool case_sensitive) {
  if (case_sensitive || value.if_text() == nullptr) return value;
  return runtime.text(lower(*value.if_text()));
}

struct Keyed {
  Values keys;
  Value value;
};

StatusOr<std::vector<Keyed>> with_keys(Runtime& runtime, const Value& subject, const Value* path,
                                       bool case_sensitive) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Values values, runtime.iterate(subject));
  // "a,b" sorts by a, then by b.
  std::vector<Value> paths;
  if (path != nullptr && path->if_text() != nullptr) {
    for (TracedText& part : split(*path->if_text(), ",", -1)) {
      paths.push_back(Value::text(std::move(part)));
    }
  } else if (path != nullptr) {
    paths.push_back(*path);
  }
  std::vector<Keyed> keyed;
  for (const Value& value : values) {
    Keyed one{{}, value};
    for (const Value& part : paths) {
      LOCKSTEP_ASSIGN_OR_RETURN(Value key, get_path(runtime, value, part));
      LOCKSTEP_ASSIGN_OR_RETURN(key, sort_key(runtime, key, case_sensitive));
      one.keys.push_back(std::move(key));
    }
    if (paths.empty()) {
      LOCKSTEP_ASSIGN_OR_RETURN(Value key, sort_key(runtime, value, case_sensitive));
      one.keys.push_back(std::move(key));
    }
    keyed.push_back(std::move(one));
  }
  return keyed;
}

// Whether keys that are equal count as being in order, even where their kind has no order.
enum class EqualKeys : uint8_t { kCompare, kPassOver };

// In order, equal ones as they stood, either way around, as in Python.
StatusOr<std::vector<const Keyed*>> sorted(Runtime& runtime, const std::vector<Keyed>& keyed,
                                           bool reversed, EqualKeys equal_keys) {
  Status status;  // of the first comparison that has no answer; the order is then any
  const auto before = [&](const Keyed* a, const Keyed* b) {
    if (reversed) std::swap(a, b);
    for (size_t i = 0; status.ok() && i < a->keys.size(); ++i) {
      const Value& x = a->keys[i];
      const Value& y = b->keys[i];
      status = runtime.charge_bytes(std::min(x.weight(), y.weight()));
      if (!status.ok() || (equal_keys == EqualKeys::kPassOver && equal(x, y))) continue;
      const StatusOr<bool> result = less(x, y);
      if (!result.ok()) status = result.status();
      return result.value_or(false);
    }
    return false;
  };
  std::vector<const Keyed*> order;
  order.reserve(keyed.size());
  for (const Keyed& one : keyed) order.push_back(&one);
  std::ranges::stable_sort(order, before);
  if (!status.ok()) return status;
  return order;
}

Values values_of(const std::vector<const Keyed*>& order) {
  Values values;
  for (const Keyed* one : order) values.push_back(one->value);
  return values;
}

Result sort(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(
      const Parameters p, Parameters::bind(arguments, {"reverse", "case_sensitive", "attribute"}));
  LOCKSTEP_ASSIGN_OR_RETURN(auto keyed, with_keys(runtime, subject, p.given(2) ? p.at(2) : nullptr,
                                                  p.truth_or(1, false)));
  LOCKSTEP_ASSIGN_OR_RETURN(const auto order,
                            sorted(runtime, keyed, p.truth_or(0, false), EqualKeys::kPassOver));
  return runtime.list(values_of(order));
}

Result dict_sort(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p,
                            Parameters::bind(arguments, {"case_sensitive", "by", "reverse"}));
  LOCKSTEP_ASSIGN_OR_RETURN(const TracedText by, p.text_or(1, "key"));
  if (by.bytes() != "key" && by.bytes() != "value") {
    return invalid_argument("dictsort by {}; allowed: key, value", quote_text(by.bytes()));
  }
  LOCKSTEP_ASSIGN_OR_RETURN(const Value pairs, items(runtime, subject, {}));
  const Value position = Value::integer(by.bytes() == "key" ? 0 : 1);
  LOCKSTEP_ASSIGN_OR_RETURN(auto keyed, with_keys(runtime, pairs, &position, p.truth_or(0, false)));
  LOCKSTEP_ASSIGN_OR_RETURN(const auto order,
                            sorted(runtime, keyed, p.truth_or(2, false), EqualKeys::kCompare));
  return runtime.list(values_of(order));
}

Result unique(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p,
                            Parameters::bind(arguments, {"case_sensitive", "attribute"}));
  LOCKSTEP_ASSIGN_OR_RETURN(
      const auto keyed,
      with_keys(runtime, subject, p.given(1) ? p.at(1) : nullptr, p.truth_or(0, false)));
  std::vector<const Keyed*> kept;
  Values values;
  for (const Keyed& one : keyed) {
    bool seen = false;
    for (const Keyed* other : kept) {
      LOCKSTEP_RETURN_IF_ERROR(runtime.charge_steps(1));
      LOCKSTEP_RETURN_IF_ERROR(
          runtime.charge_bytes(std::min(one.keys[0].weight(), other->keys[0].weight())));
      seen = seen || std::ranges::equal(one.keys, other->keys, equal);
    }
    if (seen) continue;
    kept.push_back(&one);
    values.push_back(one.value);
  }
  return runtime.sequence(std::move(values), SequenceKind::kStream);
}

template <bool kLargest>
Result extreme(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p,
                            Parameters::bind(arguments, {"case_sensitive", "attribute"}));
  LOCKSTEP_ASSIGN_OR_RETURN(
      const auto keyed,
      with_keys(runtime, subject, p.given(1) ? p.at(1) : nullptr, p.truth_or(0, false)));
  if (keyed.empty()) return Value::undefined("the extreme of no items");
  const Keyed* best = &keyed[0];
  for (const Keyed& one : std::span(keyed).subspan(1)) {
    const Value& a = kLargest ? best->keys[0] : one.keys[0];
    const Value& b = kLargest ? one.keys[0] : best->keys[0];
    LOCKSTEP_ASSIGN_OR_RETURN(const bool better, compare(runtime, Comparison::kLess, a, b));
    if (better) best = &one;
  }
  return best->value;
}

Result sum(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p,
                            Parameters::bind(arguments, {"attribute", "start"}));
  LOCKSTEP_ASSIGN_OR_RETURN(const Values values, runtime.iterate(subject));
  Value total = p.value_or(1, Value::integer(0));
  for (Value value : values) {
    if (p.given(0)) {
      LOCKSTEP_ASSIGN_OR_RETURN(value, get_path(runtime, value, *p.at(0)));
    }
    LOCKSTEP_ASSIGN_OR_RETURN(total, apply_binary(runtime, BinaryOperator::kAdd, total, value));
  }
  return total;
}

// What map, select and their like go through: nothing for none, false and 0.
StatusOr<Values> iterate_if_true(Runtime& runtime, const Value& subject) {
  if (!subject.truth()) return Values{};
  return runtime.iterate(subject);
}

// map(attribute=..., default=...) or map('filter', arguments...).
Result map(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Values values, iterate_if_true(runtime, subject));
  Values mapped;
  if (arguments.positional.empty()) {
    LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p,
                              Parameters::bind(arguments, {"attribute", "default"}));
    LOCKSTEP_ASSIGN_OR_RETURN(const Value path, p.value(0));
    for (const Value& value : values) {
      LOCKSTEP_RETURN_IF_ERROR(runtime.charge_steps(1));
      LOCKSTEP_ASSIGN_OR_RETURN(Value found, get_path(runtime, value, path));
      if (found.is_undefined()) found = p.value_or(1, found);
      mapped.push_back(std::move(found));
    }
    return runtime.sequence(std::move(mapped), SequenceKind::kStream);
  }
  const TracedText* name = arguments.positional[0].if_text();
  const Builtin* filter = name == nullptr ? nullptr : find_filter(name->bytes());
  if (filter == nullptr) return invalid_argument("map with a filter that does not exist");
  const Arguments rest{{arguments.positional.begin() + 1, arguments.positional.end()},
                       arguments.keywords};
  const Runtime::Level level(runtime);  // the filter may be map itself
  LOCKSTEP_RETURN_IF_ERROR(level.status());
  for (const Value& value : values) {
    LOCKSTEP_RETURN_IF_ERROR(runtime.charge_steps(1));
    LOCKSTEP_ASSIGN_OR_RETURN(Value result, filter->function(runtime, value, rest));
    mapped.push_back(std::move(result));
  }
  return runtime.sequence(std::move(mapped), SequenceKind::kStream);
}

// select('test', arguments...) and selectattr('name', 'test', arguments...); truth without a test.
template <bool kKeep, bool kByAttribute>
Result choose(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  size_t used = kByAttribute ? 1 : 0;
  if (arguments.positional.size() < used) {
    return invalid_argument("selectattr or rejectattr without an attribute");
  }
  const Builtin* test = nullptr;
  if (arguments.positional.size() > used) {
    const TracedText* name = arguments.positional[used++].if_text();
    test = name == nullptr ? nullptr : find_test(name->bytes());
    if (test == nullptr)
      return invalid_argument("select or reject with a test that does not exist");
  }
  const Arguments rest{
      {arguments.positional.begin() + static_cast<ptrdiff_t>(used), arguments.positional.end()},
      arguments.keywords};
  LOCKSTEP_ASSIGN_OR_RETURN(const Values values, iterate_if_true(runtime, subject));
  Values kept;
  for (const Value& value : values) {
    LOCKSTEP_RETURN_IF_ERROR(runtime.charge_steps(1));
    Value tested = value;
    if (kByAttribute) {
      LOCKSTEP_ASSIGN_OR_RETURN(tested, get_path(runtime, value, arguments.positional[0]));
    }
    if (test != nullptr) {
      LOCKSTEP_ASSIGN_OR_RETURN(tested, test->function(runtime, tested, rest));
    }
    if (tested.truth() == kKeep) kept.push_back(value);
  }
  return runtime.sequence(std::move(kept), SequenceKind::kStream);
}

Result group_by(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(
      const Parameters p, Parameters::bind(arguments, {"attribute", "default", "case_sensitive"}));
  LOCKSTEP_ASSIGN_OR_RETURN(const Value path, p.value(0));
  const bool case_sensitive = p.truth_or(2, false);
  LOCKSTEP_ASSIGN_OR_RETURN(auto keyed, with_keys(runtime, subject, &path, case_sensitive));
  for (Keyed& one : keyed) {
    if (one.keys[0].is_undefined()) one.keys[0] = p.value_or(1, one.keys[0]);
  }
  LOCKSTEP_ASSIGN_OR_RETURN(const auto order,
                            sorted(runtime, keyed, /*reversed=*/false, EqualKeys::kCompare));
  Values groups;
  for (size_t begin = 0; begin < order.size();) {
    const Keyed& leader = *order[begin];
    Values members{leader.value};
    size_t end = begin + 1;
    for (; end < order.size() && equal(order[end]->keys[0], leader.keys[0]); ++end) {
      members.push_back(order[end]->value);
    }
    LOCKSTEP_ASSIGN_OR_RETURN(Value label, get_path(runtime, leader.value, path));
    if (label.is_undefined()) label = leader.keys[0];
    LOCKSTEP_ASSIGN_OR_RETURN(Value list, runtime.list(std::move(members)));
    LOCKSTEP_ASSIGN_OR_RETURN(
        Value group, runtime.sequence({std::move(label), std::move(list)}, SequenceKind::kGroup));
    groups.push_back(std::move(group));
    begin = end;
  }
  return runtime.list(std::move(groups));
}

Result batch(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p,
                            Parameters::bind(arguments, {"linecount", "fill_with"}));
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t size, p.integer(0));
  if (size < 1) return invalid_argument("batch of {}; at least 1", size);
  LOCKSTEP_ASSIGN_OR_RETURN(const Values values, runtime.iterate(subject));
  Values batches;
  for (size_t begin = 0; begin < values.size();) {
    const size_t count = std::min(values.size() - begin, static_cast<size_t>(size));
    Values one(values.begin() + static_cast<ptrdiff_t>(begin),
               values.begin() + static_cast<ptrdiff_t>(begin + count));
    begin += count;
    if (p.given(1)) {
      LOCKSTEP_RETURN_IF_ERROR(runtime.charge_steps(size - static_cast<int64_t>(count)));
      one.resize(static_cast<size_t>(size), *p.at(1));
    }
    LOCKSTEP_ASSIGN_OR_RETURN(Value list, runtime.list(std::move(one)));
    batches.push_back(std::move(list));
  }
  return runtime.sequence(std::move(batches), SequenceKind::kStream);
}

// `slices` lists of nearly equal length; the later ones are filled up.
Result slice_list(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Parameters p,
                            Parameters::bind(arguments, {"slices", "fill_with"}));
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t slices, p.integer(0));
  if (slices < 1) return invalid_argument("slice into {}; at least 1", slices);
  LOCKSTEP_RETURN_IF_ERROR(runtime.charge_steps(slices));
  LOCKSTEP_ASSIGN_OR_RETURN(const Values values, runtime.iterate(subject));
  const int64_t each = static_cast<int64_t>(values.size()) / slices;
  const int64_t longer = static_cast<int64_t>(values.size()) % slices;
  Values lists;
  auto at = values.begin();
  for (int64_t i = 0; i < slices; ++i) {
    const auto end = at + each + (i < longer ? 1 : 0);
    Values one(at, end);
    at = end;
    if (p.given(1) && i >= longer) one.push_back(*p.at(1));
    LOCKSTEP_ASSIGN_OR_RETURN(Value list, runtime.list(std::move(one)));
    lists.push_back(std::move(list));
  }
  return runtime.sequence(std::move(lists), SequenceKind::kStream);
}

constexpr auto kFilters = std::to_array<Builtin>({
    {"attr", attribute},
    {"batch", batch},
    {"count", length},
    {"d", default_value},
    {"default", default_value},
    {"dictsort", dict_sort},
    {"first", first},
    {"groupby", group_by},
    {"items", items},
    {"join", join},
    {"last", last},
    {"length", length},
    {"list", to_list},
    {"map", map},
    {"max", extreme<true>},
    {"min", extreme<false>},
    {"reject", choose<false, false>},
    {"rejectattr", choose<false, true>},
    {"reverse", reverse},
    {"select", choose<true, false>},
    {"selectattr", choose<true, true>},
    {"slice", slice_list},
    {"sort", sort},
    {"sum", sum},
    {"unique", unique},
});

}  // namespace

std::span<const Builtin> sequence_filters() { return kFilters; }

const Builtin* find_filter(std::string_view name) {
  for (const auto table : {text_filters(), sequence_filters()}) {
    const auto found = std::ranges::find(table, name, &Builtin::name);
    if (found != table.end()) return &*found;
  }
  return nullptr;
}

}  // namespace lockstep::text::jinja
