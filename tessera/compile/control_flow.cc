#include "tessera/compile/control_flow.h"

#include <algorithm>
#include <unordered_map>

#include "tessera/control/control_flow_ops.h"
#include "tessera/ir/axis_env.h"
#include "tessera/ops/collectives/collectives.h"
#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/pad.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"
#include "tessera/trace/trace.h"

namespace tessera::internal {

using namespace compile;

namespace {

// Orders dtypes as bool < integers < floats < complex. A weak type gives way to a type whose
// category is not lower.
int category(DType d) {
  if (d == bool_) return 0;
  if (is_integer(d)) return 1;
  return is_complex(d) ? 3 : 2;
}
bool yields(const Type& weak, const Type& to) {
  return weak.weak && weak.shape == to.shape && weak.dtype != to.dtype &&
         category(weak.dtype) <= category(to.dtype);
}

Array cast_varying(const Array& x, const AxisNames& axes) {
  const AxisNames missing = axis_difference(axes, x.type().varying);
  return missing.empty() ? x : lax::pcast_varying(x, missing);
}

// Gives the carries that enter a loop the types of those that the body returns: a weak start takes
// the body's dtype, and a start that varies over fewer axes is cast. Returns true if `init`
// changed: then the body has to be traced again.
bool adapt_carry(std::vector<Array>& init, const Function& body) {
  bool changed = false;
  for (size_t k = 0; k < init.size(); ++k) {
    const Type &in = init[k].type(), &out = body.type(body.outputs[k]);
    if (yields(in, out)) {
      init[k] = lax::convert_element_type(init[k], out.dtype, out.weak);
      changed = true;
    } else if (!axis_subset(out.varying, in.varying)) {
      init[k] = cast_varying(init[k], out.varying);
      changed = true;
    }
  }
  return changed;
}

// Converts the carries that a body returns to the types that it takes, if these differ only in the
// axes that they vary over or in weakness.
void settle_carry(std::vector<Array>& outputs, const std::vector<Type>& types) {
  for (size_t k = 0; k < types.size(); ++k) {
    if (yields(outputs[k].type(), types[k]) ||
        (outputs[k].weak_type() && !types[k].weak && outputs[k].type().same_array(types[k])))
      outputs[k] = lax::convert_element_type(outputs[k], types[k].dtype);
    outputs[k] = cast_varying(outputs[k], types[k].varying);
  }
}

void expect_carry(std::string_view op, const Function& body, const std::vector<Type>& types,
                  const std::vector<std::string>& paths) {
  for (size_t k = 0; k < types.size(); ++k) {
    const Type& out = body.type(body.outputs[k]);
    if (out.same_array(types[k])) continue;
    type_error(op,
               "expected {} to keep the type it starts with, {}, got {} from the body; convert or "
               "reshape one of them",
               paths[k], describe(types[k]), describe(out));
  }
}

// The captures of several regions, each of them once, and for each region the positions of its own.
class Captures {
 public:
  void add(const TracedFunction& f) {
    for (const Array& x : f.captures)
      if (number_.emplace(x.data().get(), all_.size()).second) all_.push_back(x);
  }
  const std::vector<Array>& all() const { return all_; }
  // Returns an input of `f` for each of all captures, including those that it does not use. The
  // inputs of its own captures leave `f.inputs`.
  std::vector<ValueId> inputs(TracedFunction& f) const {
    std::vector<ValueId> out(all_.size(), -1);
    const size_t declared = f.function.inputs.size() - f.captures.size();
    for (size_t k = 0; k < f.captures.size(); ++k)
      out[number_.at(f.captures[k].data().get())] = f.function.inputs[declared + k];
    f.function.inputs.resize(declared);
    for (size_t k = 0; k < out.size(); ++k)
      if (out[k] < 0) out[k] = f.function.add_value(traced_type(all_[k]));
    return out;
  }

 private:
  std::vector<Array> all_;
  std::unordered_map<const ArrayData*, size_t> number_;
};

template <class T>
void append(std::vector<T>& to, const std::vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}
FunctionRef share(const Function& f) {
  return std::make_shared<const Function>(remove_dead_ops(f));
}

int64_t scan_length(std::string_view op, const std::vector<Array>& xs,
                    const std::vector<std::string>& paths, std::optional<int64_t> length) {
  if (xs.empty() && !length)
    value_error(op, "expected a length where there is nothing to scan over; give .length");
  if (length && *length < 0) value_error(op, "expected a length of at least 0, got {}", *length);
  for (size_t k = 0; k < xs.size(); ++k) {
    if (xs[k].ndim() == 0)
      shape_error(op,
                  "expected arrays to scan over, got the scalar {} in {}; pass it in the carry, "
                  "or let the body capture it",
                  describe(xs[k].type()), paths[k]);
    if (!length) length = xs[0].shape()[0];
    if (xs[k].shape()[0] != *length)
      shape_error(op, "expected a leading dimension of {} in {}, as that of {}, got {}", *length,
                  paths[k], k == 0 ? ".length" : paths[0], describe(xs[k].type()));
  }
  return *length;
}

}  // namespace

FlatLoopResult scan_flat(std::string_view op, const FlatFn& body, std::vector<Array> init,
                         const std::vector<Array>& xs, const std::vector<std::string>& carry_paths,
                         const std::vector<std::string>& xs_paths, const ScanOptions& options) {
  const int64_t length = scan_length(op, xs, xs_paths, options.length);
  const size_t carries = init.size();
  TracedFunction traced;
  std::vector<Type> types;
  do {
    types = traced_types(init);
    std::vector<Type> inputs = types;
    for (const Array& x : xs) {
      Type& slice = inputs.emplace_back(traced_type(x));
      slice.shape.erase(slice.shape.begin());
    }
    traced = trace_function(
        [&](const std::vector<Array>& args) {
          std::vector<Array> out = body(args);
          settle_carry(out, types);
          return out;
        },
        inputs, "body");
  } while (adapt_carry(init, traced.function));
  expect_carry(op, traced.function, types, carry_paths);
  ScanParams params{.length = length,
                    .num_consts = static_cast<int64_t>(traced.captures.size()),
                    .num_carry = static_cast<int64_t>(carries),
                    .reverse = options.reverse};
  // The op takes the captures before the other operands.
  std::vector<ValueId>& inputs = traced.function.inputs;
  std::rotate(inputs.begin(), inputs.end() - params.num_consts, inputs.end());
  params.body = share(traced.function);
  std::vector<Array> operands = traced.captures;
  append(operands, init);
  append(operands, xs);
  const SourceScope source(op);
  std::vector<Array> results = bind_op(scan_op, std::move(params), operands);
  const auto middle = results.begin() + static_cast<int64_t>(carries);
  return {{results.begin(), middle}, {middle, results.end()}};
}

namespace {

struct TracedLoop {
  TracedFunction cond, body;
};

TracedLoop trace_loop(std::string_view op, const FlatFn& cond, const FlatFn& body,
                      std::vector<Array>& init, const std::vector<std::string>& paths) {
  TracedLoop out;
  std::vector<Type> types;
  do {
    types = traced_types(init);
    out.body = trace_function(
        [&](const std::vector<Array>& args) {
          std::vector<Array> next = body(args);
          settle_carry(next, types);
          return next;
        },
        types, "body");
  } while (adapt_carry(init, out.body.function));
  expect_carry(op, out.body.function, types, paths);
  out.cond = trace_function(cond, types, "cond");
  const Type& decision = out.cond.function.type(out.cond.function.outputs[0]);
  if (decision.dtype != bool_ || decision.rank() != 0)
    type_error(op, "expected cond to return a bool scalar, got {}", describe(decision));
  return out;
}

// Lets every device stop by itself. The carry begins with the device's own condition; the loop
// continues while any device's condition is true, and the carry of a device that has stopped stays
// the same.
std::vector<Array> predicated_while(std::string_view op, const FlatFn& cond, const FlatFn& body,
                                    const std::vector<Array>& init,
                                    const std::vector<std::string>& paths, const AxisNames& axes) {
  const FlatFn any = [&](const std::vector<Array>& state) {
    const Array mine = lax::convert_element_type(state[0], int32);
    return std::vector{
        lax::ne(lax::pmax(cast_varying(mine, axes), axes), Array(Literal::scalar(0)))};
  };
  const FlatFn step = [&](const std::vector<Array>& state) {
    const std::vector<Array> carry(state.begin() + 1, state.end());
    std::vector<Array> next = body(carry);
    for (size_t k = 0; k < next.size(); ++k)
      if (yields(next[k].type(), carry[k].type()) || next[k].type().same_array(carry[k].type()))
        next[k] =
            lax::select(state[0], lax::convert_element_type(next[k], carry[k].dtype()), carry[k]);
    const Array go_on = lax::bitwise_and(state[0], cond(next)[0]);
    next.insert(next.begin(), go_on);
    return next;
  };
  std::vector<Array> state = init;
  for (Array& x : state) x = cast_varying(x, axes);
  state.insert(state.begin(), cond(state)[0]);
  std::vector<std::string> names = paths;
  names.insert(names.begin(), "the condition");
  std::vector<Array> out = while_flat(op, any, step, state, names);
  out.erase(out.begin());
  return out;
}

}  // namespace

std::vector<Array> while_flat(std::string_view op, const FlatFn& cond, const FlatFn& body,
                              std::vector<Array> init, const std::vector<std::string>& paths) {
  TracedLoop loop = trace_loop(op, cond, body, init, paths);
  const AxisNames varying = loop.cond.function.type(loop.cond.function.outputs[0]).varying;
  if (!varying.empty()) return predicated_while(op, cond, body, init, paths, varying);
  Captures captures;
  captures.add(loop.cond);
  captures.add(loop.body);
  append(loop.cond.function.inputs, captures.inputs(loop.cond));
  const std::vector<ValueId> invariant = captures.inputs(loop.body);
  append(loop.body.function.inputs, invariant);
  append(loop.body.function.outputs, invariant);
  std::vector<Array> operands = init;
  append(operands, captures.all());
  const SourceScope source(op);
  std::vector<Array> results = bind_op(
      while_op, WhileParams{share(loop.cond.function), share(loop.body.function)}, operands);
  results.resize(init.size());
  return results;
}

namespace {

// Returns the type to which the results of two branches can both be converted; nullopt if none
// exists.
std::optional<Type> join_types(const Type& a, const Type& b) {
  Type out = a;
  out.varying = axis_union(a.varying, b.varying);
  out.weak = a.weak && b.weak;
  if (a.same_array(b)) return out;
  if (yields(a, b)) {
    out.dtype = b.dtype;
    out.weak = b.weak;
    return out;
  }
  if (yields(b, a)) {
    out.weak = a.weak;
    return out;
  }
  return std::nullopt;
}

Array choose(const Array& index, const std::vector<Array>& results) {
  if (index.dtype() == bool_) return lax::select(index, results[1], results[0]);
  Array out = results.back();
  for (size_t b = results.size() - 1; b-- > 0;)
    out = lax::select(lax::eq(index, Array(Literal::scalar(static_cast<int32_t>(b)))), results[b],
                      out);
  return out;
}

}  // namespace

std::vector<Array> case_flat(std::string_view op, const Array& index,
                             const std::vector<FlatFn>& branches, const std::vector<Array>& args,
                             const std::function<std::vector<std::string>()>& result_paths) {
  if (branches.size() == 1) return branches[0](args);
  const std::vector<Type> inputs = traced_types(args);
  std::vector<TracedFunction> traced;
  std::vector<Type> types;
  bool settled = true;
  for (size_t b = 0; b < branches.size(); ++b) {
    const Function& f = traced.emplace_back(trace_function(branches[b], inputs, "branch")).function;
    for (size_t r = 0; r < f.outputs.size(); ++r) {
      const Type& mine = f.type(f.outputs[r]);
      if (b == 0) {
        types.push_back(mine);
        continue;
      }
      const std::optional<Type> both = join_types(types[r], mine);
      if (!both) {
        const bool two = index.dtype() == bool_;
        type_error(op,
                   "expected every branch to return one type, got {} from {} and {} from {} as {}",
                   describe(types[r]), two ? "false_fn" : "branch 0", describe(mine),
                   two ? "true_fn" : fmt::format("branch {}", b), result_paths()[r]);
      }
      types[r] = *both;
    }
  }
  const auto settle = [&](std::vector<Array> out) {
    for (size_t r = 0; r < out.size(); ++r) {
      out[r] = lax::convert_element_type(out[r], types[r].dtype, types[r].weak);
      out[r] = cast_varying(out[r], types[r].varying);
    }
    return out;
  };
  if (!index.type().varying.empty()) {
    // Devices take different branches, so all branches are computed and each device selects its
    // results.
    std::vector<std::vector<Array>> results;
    for (const FlatFn& branch : branches) results.push_back(settle(branch(args)));
    std::vector<Array> out;
    for (size_t r = 0; r < types.size(); ++r) {
      std::vector<Array> of_branches;
      for (const std::vector<Array>& mine : results) of_branches.push_back(mine[r]);
      out.push_back(choose(index, of_branches));
    }
    return out;
  }
  for (const TracedFunction& f : traced)
    for (size_t r = 0; r < types.size(); ++r) {
      const Type& mine = f.function.type(f.function.outputs[r]);
      settled = settled && mine.same_array(types[r]) && mine.weak == types[r].weak &&
                mine.varying == types[r].varying;
    }
  if (!settled)
    for (size_t b = 0; b < branches.size(); ++b)
      traced[b] = trace_function(
          [&](const std::vector<Array>& x) { return settle(branches[b](x)); }, inputs, "branch");
  Captures captures;
  for (const TracedFunction& f : traced) captures.add(f);
  CaseParams params;
  for (TracedFunction& f : traced) {
    append(f.function.inputs, captures.inputs(f));
    params.branches.push_back(share(f.function));
  }
  std::vector<Array> operands = {index};
  append(operands, args);
  append(operands, captures.all());
  const SourceScope source(op);
  return bind_op(case_op, std::move(params), operands);
}

void throw_structures_differ(std::string_view op, const char* what) {
  value_error(op, "expected {} of one structure, got different ones (sizes, keys or static fields)",
              what);
}

void throw_no_branch() { value_error("switch_", "expected at least one branch, got none"); }

Array as_predicate(const Array& pred) {
  if (pred.ndim() != 0)
    shape_error("cond", "expected a scalar predicate, got {}; reduce it by all or any",
                describe(pred.type()));
  if (pred.dtype() == bool_) return pred;
  return lax::ne(pred, lax::full({}, 0, pred.dtype()));
}

Array as_branch_index(const Array& index, int64_t branches) {
  if (index.ndim() != 0 || !is_integer(index.dtype()))
    type_error("switch_", "expected an integer scalar as index, got {}", describe(index.type()));
  const DType dtype = index.dtype();
  // The index is clamped in its own dtype, since a large one must not wrap.
  const Array clamped = lax::clamp(lax::full({}, 0, dtype), index,
                                   lax::full({}, static_cast<double>(branches - 1), dtype));
  return lax::convert_element_type(clamped, int32);
}

std::pair<Array, Array> loop_bounds(const Array& lower, const Array& upper) {
  for (const Array* bound : {&lower, &upper})
    if (bound->ndim() != 0 || !is_integer(bound->dtype()))
      type_error("fori_loop", "expected integer scalars as bounds, got {}",
                 describe(bound->type()));
  if (lower.dtype() == upper.dtype()) return {lower, upper};
  if (lower.weak_type()) return {lax::convert_element_type(lower, upper.dtype()), upper};
  if (upper.weak_type()) return {lower, lax::convert_element_type(upper, lower.dtype())};
  type_error("fori_loop", "expected bounds of one dtype, got {} and {}", describe(lower.type()),
             describe(upper.type()));
}

Array increment(const Array& i) { return lax::add(i, lax::full({}, 1, i.dtype(), i.weak_type())); }

namespace {

using Leaves = std::vector<Array>;

// Returns the elements start, start + stride, ... of every leaf.
Leaves every(const Leaves& x, int64_t axis, int64_t start, int64_t limit, int64_t stride = 1) {
  Leaves out;
  for (const Array& leaf : x) out.push_back(lax::slice_in_dim(leaf, start, limit, stride, axis));
  return out;
}

// Returns a[0], b[0], a[1], b[1], ...; a may have one more element.
Array interleave(const Array& a, const Array& b, int64_t axis) {
  const Array zero = lax::full({}, 0, a.dtype());
  const bool equal = a.shape()[axis] == b.shape()[axis];
  Dims none(static_cast<size_t>(a.ndim()), 0);
  Dims low = none, high_a = none, high_b = none, interior = none;
  low[axis] = interior[axis] = 1;
  high_a[axis] = equal ? 1 : 0;
  high_b[axis] = equal ? 0 : 1;
  const Array x = lax::pad(a, zero, none, high_a, interior),
              y = lax::pad(b, zero, low, high_b, interior);
  return a.dtype() == bool_ ? lax::bitwise_or(x, y) : lax::add(x, y);
}

Leaves prefixes(const std::function<Leaves(const Leaves&, const Leaves&)>& combine, const Leaves& x,
                int64_t axis) {
  const int64_t n = x[0].shape()[axis];
  if (n < 2) return x;
  // Combines neighbours into half as many elements. The prefixes of these are the odd results.
  const Leaves odd =
      prefixes(combine, combine(every(x, axis, 0, n - 1, 2), every(x, axis, 1, n, 2)), axis);
  const int64_t m = odd[0].shape()[axis];
  const Leaves rest = every(x, axis, 2, n, 2);
  const Leaves even = rest[0].shape()[axis] == 0
                          ? rest
                          : combine(n % 2 == 0 ? every(odd, axis, 0, m - 1) : odd, rest);
  Leaves out;
  for (size_t k = 0; k < x.size(); ++k) {
    const Array first = lax::slice_in_dim(x[k], 0, 1, 1, axis);
    const Array all = lax::concatenate(std::vector{first, even[k]}, axis);
    out.push_back(interleave(all, odd[k], axis));
  }
  return out;
}

}  // namespace

std::vector<Array> associative_scan_flat(
    const std::function<Leaves(const Leaves&, const Leaves&)>& combine, const Leaves& elements,
    const std::vector<std::string>& paths, const AssociativeScanOptions& options) {
  constexpr std::string_view kOp = "associative_scan";
  if (elements.empty()) return {};
  if (elements[0].ndim() == 0)
    shape_error(kOp, "expected arrays to scan over, got the scalar {} in {}",
                describe(elements[0].type()), paths[0]);
  const int64_t axis = normalize_axis(kOp, options.axis, elements[0].ndim());
  for (size_t k = 0; k < elements.size(); ++k)
    if (elements[k].ndim() <= axis || elements[k].shape()[axis] != elements[0].shape()[axis])
      shape_error(kOp, "expected {} elements along dimension {} of {}, as of {}, got {}",
                  elements[0].shape()[axis], axis, paths[k], paths[0],
                  describe(elements[k].type()));
  const auto checked = [&](const Leaves& a, const Leaves& b) {
    Leaves out = combine(a, b);
    for (size_t k = 0; k < out.size(); ++k)
      if (!out[k].type().same_array(a[k].type()))
        type_error(kOp, "expected fn to return {} of type {}, got {}", paths[k],
                   describe(a[k].type()), describe(out[k].type()));
    return out;
  };
  const auto reversed = [&](Leaves x) {
    for (Array& leaf : x) leaf = lax::rev(leaf, {axis});
    return x;
  };
  if (!options.reverse) return prefixes(checked, elements, axis);
  return reversed(prefixes(checked, reversed(elements), axis));
}

}  // namespace tessera::internal
