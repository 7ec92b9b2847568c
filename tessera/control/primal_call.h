// What calls with custom rules (control/custom_derivative.h) have in common: each has a function
// `primal` among its params, and its results are those of a call of that function.
#pragma once

#include <span>
#include <vector>

#include "tessera/base/namespaces.h"
#include "tessera/control/control.h"
#include "tessera/ir/retype.h"
#include "tessera/ops/core/op.h"

namespace tessera::control {

inline std::vector<Array> part(std::span<const Array> from, size_t begin, size_t count) {
  return {from.begin() + static_cast<int64_t>(begin),
          from.begin() + static_cast<int64_t>(begin + count)};
}

// Returns the types of the results, which are those of a call of the primal.
template <class P>
std::vector<Type> infer_primal(std::span<const Type> operands, const P& p) {
  return call_op.infer(operands, CallParams{p.primal});
}
template <class P>
P retype_primal(std::span<const Type> operands, const P& p) {
  const size_t n = p.primal->inputs.size();
  if (operands.size() < n) return p;  // infer throws UserError
  P q = p;
  q.primal = retyped(p.primal, variance_of(operands.subspan(0, n)));
  return q;
}
template <class P>
FunctionRef primal_of(const OpParams& params) {
  return params.as<P>().primal;
}

// Returns the types of `count` operands from `begin` on, which are operands only because of their
// types.
inline std::vector<Type> like_types(std::span<const Type> operands, size_t begin, size_t count) {
  std::vector<Type> out;
  for (size_t r = begin; r < begin + count; ++r) {
    out.push_back(operands[r]);
    out.back().sharding = nullptr;
  }
  return out;
}

// Returns the results of a function for these operands, and stores all its values in `values`.
std::vector<Array> apply_and_keep(const Function& f, std::span<const Array> operands,
                                  std::vector<Array>& values);

}  // namespace tessera::control
