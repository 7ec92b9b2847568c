// Derivatives, transposes and batching of while loops and branches.
#include <algorithm>

#include "tessera/control/control_flow_rules.h"
#include "tessera/control/io_calls.h"
#include "tessera/control/make_control_flow.h"
#include "tessera/control/pointwise_while.h"
#include "tessera/control/region_memo.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/batch_axis.h"
#include "tessera/ops/core/identity.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/trace/trace.h"
#include "tessera/transform/batch.h"
#include "tessera/transform/derivative.h"

namespace tessera::control {
namespace {

std::vector<Array> front(const std::vector<Array>& from, size_t count) {
  return {from.begin(), from.begin() + static_cast<int64_t>(count)};
}

// Returns which carries have a tangent, including those that get one in the body. It asks
// jvp_nonzero, which makes no linear program, because loops in the body may have none.
std::vector<bool> carries_with_tangents(std::span<const Array> primals, std::vector<bool> mask,
                                        const WhileParams& p) {
  const std::vector<Type> types = traced_types(primals);
  for (bool changed = true; changed;) {
    changed = false;
    const std::vector<bool> nonzero = jvp_nonzero(p.body, types, mask);
    for (size_t k = 0; k < mask.size(); ++k) {
      if (!nonzero[k] || mask[k]) continue;
      mask[k] = changed = true;
    }
  }
  return mask;
}

}  // namespace

JvpResult jvp_while(std::span<const Array> primals, std::span<const Array> tangents,
                    const WhileParams& p) {
  const RegionMemoScope scope;
  std::vector<bool> mask;
  for (const Array& t : tangents) mask.push_back(t.defined());
  mask = carries_with_tangents(primals, mask, p);
  const size_t n = primals.size();
  std::vector<Array> carry(primals.begin(), primals.end());
  for (size_t k = 0; k < n; ++k)
    if (mask[k]) carry.push_back(tangents[k].defined() ? tangents[k] : zero_of(primals[k].type()));
  const std::vector<Array> results = make_while(
      carry, [&](const std::vector<Array>& x) { return inline_function(*p.cond, front(x, n)); },
      [&](const std::vector<Array>& x) {
        std::vector<Array> t(n);
        size_t next = n;
        for (size_t k = 0; k < n; ++k)
          if (mask[k]) t[k] = x[next++];
        JvpResult out = jvp_region(p.body, front(x, n), t);
        for (size_t k = 0; k < n; ++k)
          if (mask[k])
            out.primals.push_back(out.tangents[k].defined() ? out.tangents[k]
                                                            : zero_of(out.primals[k].type()));
        return out.primals;
      });
  JvpResult out{front(results, n), std::vector<Array>(n)};
  size_t next = n;
  for (size_t k = 0; k < n; ++k)
    if (mask[k]) out.tangents[k] = results[next++];
  return out;
}

// Loops that are not pointwise can be transposed only with respect to carries that the body returns
// unchanged.
LinearizeResult linearize_while(std::span<const Array> primals,
                                const std::vector<bool>& has_tangent, const WhileParams& p) {
  const RegionMemoScope scope;
  const std::vector<bool> mask = carries_with_tangents(primals, has_tangent, p);
  for (size_t k = 0; k < mask.size(); ++k) {
    if (!mask[k] || p.body->outputs[k] == p.body->inputs[k]) continue;
    if (auto pointwise = linearize_pointwise_while(primals, has_tangent, mask, p))
      return std::move(*pointwise);
    type_error("while",
               "expected a loop of known length to take the reverse derivative of, or one that "
               "treats all elements alike, got a while_loop whose carry {} depends on what is "
               "differentiated; use scan, fori_loop with bounds that are C++ integers, or forward "
               "mode (jvp)",
               k);
  }
  return {bind_op(while_op, p, primals), [](std::span<const Array> tangents) {
            return std::vector<Array>(tangents.begin(), tangents.end());
          }};
}

BatchResult batch_while(std::span<const Array> operands, std::span<const int> dims,
                        const WhileParams& p) {
  const RegionMemoScope scope;
  const int64_t size = BatchAxis::current().size;
  const size_t n = operands.size();
  std::vector<char> mapped;
  for (int d : dims) mapped.push_back(d >= 0);
  bool predicated = false;  // examples stop after different numbers of trips
  auto body_dims = [&] {
    std::vector<int> out;
    for (char m : mapped) out.push_back(m ? 0 : -1);
    return out;
  };
  auto carry = [&] {
    std::vector<Array> out;
    for (size_t k = 0; k < n; ++k)
      out.push_back(mapped[k] ? lax::with_batch_first(operands[k], dims[k], size) : operands[k]);
    return out;
  };
  auto types = [&] { return traced_types(carry()); };
  for (bool changed = true; changed;) {
    changed = false;
    const std::vector<Type> inputs = types();
    const std::vector<int> cond = batched_dims(p.cond, inputs, body_dims());
    const std::vector<int> body = batched_dims(p.body, inputs, body_dims());
    if (cond[0] >= 0 && !predicated) predicated = changed = true;
    for (size_t k = 0; k < n; ++k) {
      const bool changes = p.body->outputs[k] != p.body->inputs[k];
      if (mapped[k] || (body[k] < 0 && !(predicated && changes))) continue;
      mapped[k] = true;
      changed = true;
    }
  }
  if (predicated)
    for (const FunctionRef& region : {p.cond, p.body})
      expect_no_io("while_loop", *region, "a condition and a body",
                   "under vmap they run until the last example ends");
  auto running = [&](const std::vector<Array>& x) {
    const BatchResult cond = batch_region(p.cond, x, body_dims());
    return predicated ? lax::with_batch_first(cond.results[0], cond.dims[0], size)
                      : cond.results[0];
  };
  std::vector<Array> results = make_while(
      carry(),
      [&](const std::vector<Array>& x) {
        const Array any = running(x);
        return std::vector<Array>{predicated ? lax::reduce_or(any, {0}) : any};
      },
      [&](const std::vector<Array>& x) {
        BatchResult out = batch_region(p.body, x, body_dims());
        Array runs;
        for (size_t k = 0; k < n; ++k) {
          if (!mapped[k]) continue;
          out.results[k] = lax::with_batch_first(out.results[k], out.dims[k], size);
          if (!predicated || p.body->outputs[k] == p.body->inputs[k]) continue;
          if (!runs.defined()) runs = running(x);
          const Array wide = lax::broadcast_in_dim(runs, out.results[k].shape(), {0});
          out.results[k] = lax::select(wide, out.results[k], x[k]);
        }
        return out.results;
      });
  return {std::move(results), body_dims()};
}

JvpResult jvp_case(std::span<const Array> primals, std::span<const Array> tangents,
                   const CaseParams& p) {
  const RegionMemoScope scope;
  const std::vector<Array> x(primals.begin() + 1, primals.end());
  const std::vector<Array> given(tangents.begin() + 1, tangents.end());
  std::vector<bool> mask;
  for (const Array& t : given) mask.push_back(t.defined());
  const std::vector<Type> types = traced_types(x);
  std::vector<bool> nonzero(p.branches[0]->outputs.size());
  for (const FunctionRef& branch : p.branches) {
    const std::vector<bool> own = jvp_nonzero(branch, types, mask);
    for (size_t r = 0; r < own.size(); ++r) nonzero[r] = nonzero[r] || own[r];
  }
  std::vector<Array> operands = x;
  for (const Array& t : given)
    if (t.defined()) operands.push_back(t);
  std::vector<FlatFn> branches;
  for (const FunctionRef& branch : p.branches)
    branches.emplace_back([&, branch](const std::vector<Array>& in) {
      std::vector<Array> t(x.size());
      size_t next = x.size();
      for (size_t k = 0; k < x.size(); ++k)
        if (mask[k]) t[k] = in[next++];
      JvpResult out = jvp_region(branch, front(in, x.size()), t);
      std::vector<Array> results = out.primals;
      for (size_t r = 0; r < nonzero.size(); ++r)
        if (nonzero[r])
          results.push_back(out.tangents[r].defined() ? out.tangents[r]
                                                      : zero_of(out.primals[r].type()));
      return results;
    });
  const std::vector<Array> results = make_case(primals[0], branches, operands);
  JvpResult out{front(results, nonzero.size()), std::vector<Array>(nonzero.size())};
  size_t next = nonzero.size();
  for (size_t r = 0; r < nonzero.size(); ++r)
    if (nonzero[r]) out.tangents[r] = results[next++];
  return out;
}

// Every branch returns the residuals of all branches, with zeros for those of other branches.
LinearizeResult linearize_case(std::span<const Array> primals, const std::vector<bool>& has_tangent,
                               const CaseParams& p) {
  const RegionMemoScope scope;
  struct State {
    std::vector<LinearizedFunction> at;
    std::vector<size_t> first;  // the index of each branch's first residual
    std::vector<Array> residuals;
    std::vector<bool> mask, nonzero;
    std::vector<Array> primals;
  };
  auto state = std::make_shared<State>();
  const std::vector<Array> x(primals.begin() + 1, primals.end());
  state->mask.assign(has_tangent.begin() + 1, has_tangent.end());
  const size_t num_results = p.branches[0]->outputs.size();
  state->nonzero.resize(num_results);
  // The types of all residuals are found first, so that every branch knows what it must return for
  // the others.
  const std::vector<Type> types = traced_types(x);
  std::vector<Type> residual_types;
  for (const FunctionRef& branch : p.branches) {
    state->first.push_back(residual_types.size());
    const RegionTangents at = region_tangents(branch, types, state->mask);
    for (size_t r = 0; r < num_results; ++r) state->nonzero[r] = state->nonzero[r] || at.nonzero[r];
    residual_types.insert(residual_types.end(), at.residuals.begin(), at.residuals.end());
  }
  state->at.resize(p.branches.size());
  std::vector<FlatFn> branches;
  for (size_t b = 0; b < p.branches.size(); ++b)
    branches.emplace_back([&, b](const std::vector<Array>& in) {
      state->at[b] = linearize_region(p.branches[b], in, state->mask);
      std::vector<Array> out = state->at[b].primals;
      for (size_t r = 0; r < residual_types.size(); ++r) {
        const bool own =
            r >= state->first[b] && r < state->first[b] + state->at[b].residuals.size();
        out.push_back(own ? state->at[b].residuals[r - state->first[b]]
                          : zero_of(residual_types[r]));
      }
      return out;
    });
  std::vector<Array> results = make_case(primals[0], branches, x);
  state->residuals.assign(results.begin() + static_cast<int64_t>(num_results), results.end());
  results.resize(num_results);
  state->primals = results;
  const Array index = primals[0];
  auto tangents = [state, index, num_results](std::span<const Array> given) {
    std::vector<Array> operands;
    for (size_t k = 0; k < state->mask.size(); ++k)
      if (state->mask[k]) operands.push_back(given[k + 1]);
    const size_t num_tangents = operands.size();
    operands.insert(operands.end(), state->residuals.begin(), state->residuals.end());
    std::vector<Array> out(num_results);
    if (std::find(state->nonzero.begin(), state->nonzero.end(), true) == state->nonzero.end())
      return out;
    std::vector<FlatFn> branches;
    for (size_t b = 0; b < state->at.size(); ++b)
      branches.emplace_back([&, b](const std::vector<Array>& in) {
        const LinearizedFunction& at = state->at[b];
        std::vector<Array> inputs = front(in, num_tangents);
        for (size_t r = 0; r < at.residuals.size(); ++r)
          inputs.push_back(in[num_tangents + state->first[b] + r]);
        const std::vector<Array> some = inline_function(at.linear, inputs);
        std::vector<Array> all;
        size_t next = 0;
        for (size_t r = 0; r < num_results; ++r) {
          if (!state->nonzero[r]) continue;
          all.push_back(at.nonzero[r] ? some[next++] : zero_of(state->primals[r].type()));
        }
        return all;
      });
    const std::vector<Array> some = make_case(index, branches, operands);
    size_t next = 0;
    for (size_t r = 0; r < num_results; ++r)
      if (state->nonzero[r]) out[r] = some[next++];
    return out;
  };
  return {std::move(results), std::move(tangents)};
}

std::vector<Array> transpose_case(std::span<const Array> cotangents,
                                  std::span<const Array> operands, const std::vector<bool>& linear,
                                  const CaseParams& p) {
  const std::vector<bool> body_linear(linear.begin() + 1, linear.end());
  const std::vector<Type> types = p.branches[0]->input_types();
  std::vector<Array> inputs;
  std::vector<int> operand_at(types.size(), -1), ct_at(cotangents.size(), -1);
  for (size_t k = 0; k < types.size(); ++k) {
    if (body_linear[k]) continue;
    operand_at[k] = static_cast<int>(inputs.size());
    inputs.push_back(operands[k + 1]);
  }
  for (size_t r = 0; r < cotangents.size(); ++r) {
    if (!cotangents[r].defined()) continue;
    ct_at[r] = static_cast<int>(inputs.size());
    inputs.push_back(cotangents[r]);
  }
  std::vector<FlatFn> branches;
  for (const FunctionRef& branch : p.branches)
    branches.emplace_back([&, branch](const std::vector<Array>& in) {
      std::vector<Array> x(types.size()), ct(cotangents.size());
      for (size_t k = 0; k < x.size(); ++k)
        if (operand_at[k] >= 0) x[k] = in[static_cast<size_t>(operand_at[k])];
      for (size_t r = 0; r < ct.size(); ++r)
        if (ct_at[r] >= 0) ct[r] = in[static_cast<size_t>(ct_at[r])];
      const std::vector<Array> back = transpose_function(*branch, body_linear, x, ct);
      std::vector<Array> out;
      for (size_t k = 0; k < back.size(); ++k)
        if (body_linear[k])
          out.push_back(back[k].defined() ? back[k] : zero_of(branch->type(branch->inputs[k])));
      return out;
    });
  const std::vector<Array> some = make_case(operands[0], branches, inputs);
  std::vector<Array> out(operands.size());
  size_t next = 0;
  for (size_t k = 0; k < types.size(); ++k)
    if (body_linear[k]) out[k + 1] = some[next++];
  return out;
}

namespace {

// Returns which examples take branch b of n. An index out of range selects the last branch.
Array chooses(const Array& index, size_t b, size_t n) {
  using namespace array_math;
  if (index.dtype() == bool_) return b == 1 ? index : lax::bitwise_not(index);
  const Array at = lax::full_like(index, static_cast<double>(b));
  if (b + 1 < n) return lax::eq(index, at);
  return lax::bitwise_or(lax::ge(index, at), lax::lt(index, lax::full_like(index, 0)));
}

// Returns the results of a branch that only the examples `chosen` take: for the other examples its
// operands are constants, so that an infinite derivative there does not become 0 * inf = NaN.
BatchResult batch_chosen(const Function& branch, const std::vector<Array>& operands,
                         const std::vector<int>& dims, const Array& chosen) {
  std::vector<Array> x = operands;
  std::vector<int> x_dims = dims;
  Array any;
  for (size_t k = 0; k < x.size(); ++k) {
    if (!is_inexact(x[k].dtype())) continue;
    Array takes;
    if (dims[k] >= 0) {
      x[k] = lax::move_to_front(x[k], dims[k]);
      x_dims[k] = 0;
      takes = lax::broadcast_in_dim(chosen, x[k].shape(), {0});
    } else {
      if (!any.defined()) any = lax::reduce_or(chosen, {0});
      takes = lax::broadcast_in_dim(any, x[k].shape(), {});
    }
    x[k] = lax::select(takes, x[k], lax::stop_gradient(x[k]));
  }
  return batch_function(branch, x, x_dims);
}

}  // namespace

BatchResult batch_case(std::span<const Array> operands, std::span<const int> dims,
                       const CaseParams& p) {
  const RegionMemoScope scope;
  const int64_t size = BatchAxis::current().size;
  const std::vector<Array> x(operands.begin() + 1, operands.end());
  const std::vector<int> x_dims(dims.begin() + 1, dims.end());
  if (dims[0] < 0) {
    // All examples take the same branch: a result is mapped if it is mapped in any branch.
    std::vector<char> mapped(p.branches[0]->outputs.size());
    const std::vector<Type> types = traced_types(x);
    for (const FunctionRef& branch : p.branches) {
      const std::vector<int> own = batched_dims(branch, types, x_dims);
      for (size_t r = 0; r < mapped.size(); ++r) mapped[r] = mapped[r] || own[r] >= 0;
    }
    std::vector<FlatFn> branches;
    for (const FunctionRef& branch : p.branches)
      branches.emplace_back([&, branch](const std::vector<Array>& in) {
        BatchResult out = batch_region(branch, in, x_dims);
        for (size_t r = 0; r < mapped.size(); ++r)
          if (mapped[r]) out.results[r] = lax::with_batch_first(out.results[r], out.dims[r], size);
        return out.results;
      });
    BatchResult out{make_case(operands[0], branches, x), {}};
    for (char m : mapped) out.dims.push_back(m ? 0 : -1);
    return out;
  }
  // Examples may take different branches: all branches are computed, and each example selects its
  // results.
  for (const FunctionRef& branch : p.branches)
    expect_no_io("cond", *branch, "branches", "under vmap all run if examples choose differently");
  const Array index = lax::move_to_front(operands[0], dims[0]);
  BatchResult out;
  for (size_t b = 0; b < p.branches.size(); ++b) {
    const Array chosen = chooses(index, b, p.branches.size());
    BatchResult branch = names_batch_axis(*p.branches[b])
                             ? batch_function(*p.branches[b], x, x_dims)
                             : batch_chosen(*p.branches[b], x, x_dims, chosen);
    for (size_t r = 0; r < branch.results.size(); ++r) {
      const Array value = lax::with_batch_first(branch.results[r], branch.dims[r], size);
      if (b == 0) {
        out.results.push_back(value);
        out.dims.push_back(0);
        continue;
      }
      const Array wide = lax::broadcast_in_dim(chosen, value.shape(), {0});
      out.results[r] = lax::select(wide, value, out.results[r]);
    }
  }
  return out;
}

}  // namespace tessera::control
