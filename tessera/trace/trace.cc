#include "tessera/trace/trace.h"

#include <algorithm>
#include <optional>

#include "tessera/ops/core/constant.h"

namespace tessera::tracing {
namespace {

// The limit of nested functions, because each takes some of the stack, here and in every pass.
constexpr int kMaxDepth = 256;
thread_local int depth = 0;

// Returns the user-level function that traces functions of this name.
std::string_view caller_of(std::string_view name) {
  if (name == "example") return "vmap";
  if (name == "body") return "scan";
  if (name == "branch") return "cond";
  return "jit";
}

}  // namespace

FunctionTrace::FunctionTrace(std::string name, Records records)
    : outer_(Trace::current()), records_(records) {
  if (depth >= kMaxDepth)
    trace_error(name,
                "expected at most {} traced functions inside each other, got more; does a function "
                "call itself without an end?",
                kMaxDepth);
  ++depth;
  function_.name = std::move(name);
  set_current(this);
}

FunctionTrace::~FunctionTrace() { end(); }

void FunctionTrace::end() {
  if (!state_->live) return;
  state_->live = false;
  --depth;
  set_current(outer_);
}

Array FunctionTrace::add_input(Type type) {
  const ValueId id = function_.add_input(type);
  return Array(std::make_shared<Tracer>(state_, id, std::move(type)));
}

std::vector<Array> FunctionTrace::record(const OpDef& def, OpParams params,
                                         std::span<const Array> operands) {
  if (records_ == Records::kDependent &&
      std::none_of(operands.begin(), operands.end(), [&](const Array& x) { return owns(x); }))
    return outside([&] { return bind_op(def, std::move(params), operands); });
  if (is_constant(def)) return {tracer(constant(std::move(params)))};
  ValueIds ids;
  std::vector<Type> types;
  types.reserve(operands.size());
  for (const Array& x : operands) {
    ids.push_back(value_of(def.name, x));
    types.push_back(function_.type(ids.back()));
  }
  params = retyped_params(def, types, params);
  const std::vector<Type> result_types = infer_types(def, types, params);
  const ValueIds results = function_.add_op({.def = &def,
                                             .params = std::move(params),
                                             .operands = std::move(ids),
                                             .source = SourceScope::current(),
                                             .reason = reason_},
                                            result_types);
  std::vector<Array> out;
  out.reserve(results.size());
  for (ValueId id : results) out.push_back(tracer(id));
  return out;
}

bool FunctionTrace::owns(const Array& array) const {
  return array.is_tracer() && static_cast<const Tracer&>(*array.data()).trace == state_;
}

Array FunctionTrace::tracer(ValueId id) const {
  std::optional<Literal> known;
  const auto constant = constants_by_id_.find(id);
  if (constant != constants_by_id_.end() && function_.type(id).elements() <= kMaxConstantElements)
    known = constant->second.as<ConstantParams>().dense();
  return Array(std::make_shared<Tracer>(state_, id, function_.type(id), std::move(known)));
}

ValueId FunctionTrace::value_of(std::string_view op, const Array& array) {
  const ArrayData* data = array.data().get();
  switch (data->kind) {
    case ArrayData::Kind::kTracer: {
      const auto* tracer = static_cast<const Tracer*>(data);
      if (tracer->trace == state_) return tracer->id;
      if (!tracer->trace->usable())
        throw_unusable(op, *tracer, "an array of this trace or of an enclosing one");
      // Tangents are often multiplied by constants of the outer trace, which are copied instead of
      // captured.
      if (records_ == Records::kDependent && tracer->known)
        return constant(constant_params(*tracer->known, tracer->type.weak));
      return capture(array);
    }
    case ArrayData::Kind::kHost: {
      const auto* host = static_cast<const HostData*>(data);
      if (host->literal.elements() <= kMaxConstantElements)
        return constant(constant_params(host->literal, host->type.weak));
      return capture(array);
    }
    case ArrayData::Kind::kDevice:
    case ArrayData::Kind::kAbstract:
      return capture(array);
  }
  TESSERA_CHECK(false, "array kind");
  __builtin_unreachable();
}

ValueId FunctionTrace::constant(OpParams params) {
  const size_t hash = params.hash();
  const auto [first, last] = constants_.equal_range(hash);
  for (auto it = first; it != last; ++it)
    if (constants_by_id_.at(it->second) == params) return it->second;
  const std::vector<Type> types = infer_types(constant_op, {}, params);
  const ValueId id = function_.add_op(constant_op, params, {}, types)[0];
  constants_.emplace(hash, id);
  constants_by_id_.emplace(id, std::move(params));
  return id;
}

ValueId FunctionTrace::capture(const Array& array) {
  const auto [it, is_new] = captured_.emplace(array.data().get(), -1);
  if (is_new) {
    // The input has no sharding: in a region a sharding would be meaningless, and callers find it
    // in captures().
    it->second = function_.add_value(traced_type(array));
    captured_ids_.push_back(it->second);
    captures_.push_back(array);
  }
  return it->second;
}

Function FunctionTrace::finish(std::span<const Array> outputs) {
  TESSERA_CHECK(state_->live, "{} is finished already", function_.name);
  TESSERA_CHECK(Trace::current() == this, "{} ends before a trace inside it", function_.name);
  for (const Array& x : outputs)
    function_.outputs.push_back(value_of(caller_of(function_.name), x));
  function_.inputs.insert(function_.inputs.end(), captured_ids_.begin(), captured_ids_.end());
  end();
  return std::move(function_);
}

Type traced_type(const Array& x) {
  Type type = x.type();
  type.sharding = nullptr;
  return type;
}

std::vector<Type> traced_types(std::span<const Array> arrays) {
  std::vector<Type> out;
  for (const Array& x : arrays) out.push_back(traced_type(x));
  return out;
}

TracedFunction trace_function(const FlatFn& body, std::span<const Type> inputs, std::string name) {
  FunctionTrace trace(std::move(name));
  std::vector<Array> args;
  for (const Type& type : inputs) args.push_back(trace.add_input(type));
  const std::vector<Array> outputs = body(args);
  TracedFunction out{.function = trace.finish(outputs)};
  out.captures = trace.captures();
  return out;
}

std::vector<Array> inline_function(const Function& function, std::span<const Array> args) {
  if (args.size() != function.inputs.size())
    value_error(function.name, "expected {} arguments, got {}", function.inputs.size(),
                args.size());
  std::vector<Array> values(function.types.size());
  for (size_t i = 0; i < args.size(); ++i) {
    const Type& want = function.type(function.inputs[i]);
    if (!want.same_array(args[i].type()))
      type_error(function.name, "expected argument {} of type {}, got {}", i, describe(want),
                 describe(args[i].type()));
    values[function.inputs[i]] = args[i];
  }
  std::vector<Array> operands;
  for (const Op& op : function.ops) {
    operands.clear();
    for (ValueId v : op.operands) operands.push_back(values[v]);
    const SourceScope source(op.source);
    std::vector<Array> results = bind_op(*op.def, op.params, operands);
    for (size_t r = 0; r < op.results.size(); ++r) values[op.results[r]] = std::move(results[r]);
  }
  std::vector<Array> out;
  for (ValueId v : function.outputs) out.push_back(values[v]);
  return out;
}

}  // namespace tessera::tracing
