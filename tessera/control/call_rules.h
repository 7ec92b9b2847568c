// Derivatives, transposes and batching of calls and manual computations, which are ops with regions
// other than loops and branches. Each rule makes the same op with a transformed region, or inlines
// it.
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/control/control.h"
#include "tessera/ir/op_def.h"

namespace tessera::control {

// Returns the linearization of a call whose function is inlined.
LinearizeResult linearize_inline(const Function& function, std::span<const Array> primals,
                                 const std::vector<bool>& has_tangent);
// The jvp rule of an op that has a linearize rule.
template <auto linearize, class P>
JvpResult jvp_by_linearize(std::span<const Array> primals, std::span<const Array> tangents,
                           const P& p) {
  std::vector<bool> has_tangent;
  for (const Array& t : tangents) has_tangent.push_back(t.defined());
  LinearizeResult at = linearize(primals, has_tangent, p);
  return {std::move(at.primals), at.tangents(tangents)};
}

JvpResult jvp_call(std::span<const Array> primals, std::span<const Array> tangents,
                   const CallParams& p);
LinearizeResult linearize_call(std::span<const Array> primals, const std::vector<bool>& has_tangent,
                               const CallParams& p);
BatchResult batch_call(std::span<const Array> operands, std::span<const int> dims,
                       const CallParams& p);

LinearizeResult linearize_manual(std::span<const Array> primals,
                                 const std::vector<bool>& has_tangent,
                                 const ManualComputationParams& p);
std::vector<Array> transpose_manual(std::span<const Array> cotangents,
                                    std::span<const Array> operands,
                                    const std::vector<bool>& linear,
                                    const ManualComputationParams& p);
BatchResult batch_manual(std::span<const Array> operands, std::span<const int> dims,
                         const ManualComputationParams& p);

}  // namespace tessera::control
