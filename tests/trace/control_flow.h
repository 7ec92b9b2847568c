// Loops and branches for the tests of passes. Callables give their regions, which capture nothing.
#pragma once

#include "tessera/control/control_flow_ops.h"
#include "tessera/trace/trace.h"

namespace tessera::testing_control {

using namespace tracing;

using Arrays = std::vector<Array>;

inline FunctionRef region(const FlatFn& body, const std::vector<Type>& types) {
  TracedFunction traced = trace_function(body, types, "body");
  TESSERA_CHECK(traced.captures.empty(), "a region of a test captures nothing");
  return std::make_shared<const Function>(std::move(traced.function));
}

inline std::vector<Type> types_of(const Arrays& arrays) {
  std::vector<Type> out;
  for (const Array& x : arrays) {
    out.push_back(x.type());
    out.back().sharding = nullptr;
  }
  return out;
}

inline Arrays joined(const Arrays& a, const Arrays& b) {
  Arrays out = a;
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

// body(consts..., carry..., slices...) -> (carry..., y...)
inline Arrays scan(int64_t length, const Arrays& consts, const Arrays& carry, const Arrays& xs,
                   const FlatFn& body, bool reverse = false) {
  std::vector<Type> types = types_of(joined(joined(consts, carry), xs));
  for (size_t k = consts.size() + carry.size(); k < types.size(); ++k)
    types[k].shape.erase(types[k].shape.begin());
  return bind_op(scan_op,
                 ScanParams{.body = region(body, types),
                            .length = length,
                            .num_consts = static_cast<int64_t>(consts.size()),
                            .num_carry = static_cast<int64_t>(carry.size()),
                            .reverse = reverse},
                 joined(joined(consts, carry), xs));
}

inline Arrays while_loop(const Arrays& carry, const FlatFn& cond, const FlatFn& body) {
  const std::vector<Type> types = types_of(carry);
  return bind_op(while_op, WhileParams{region(cond, types), region(body, types)}, carry);
}

inline Arrays branch(const Array& index, const Arrays& operands,
                     const std::vector<FlatFn>& branches) {
  CaseParams params;
  for (const FlatFn& f : branches) params.branches.push_back(region(f, types_of(operands)));
  return bind_op(case_op, params, joined({index}, operands));
}

}  // namespace tessera::testing_control
