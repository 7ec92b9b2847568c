// The implementation of grad, vjp, jvp and linearize without templates: functions of lists of
// arrays. linearization.h defines Linearization.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/compile/erased_call.h"
#include "tessera/ir/array.h"

namespace tessera::internal {

// The results of a call, of which the first is a real scalar, and the gradients of that scalar by
// the leaves of the arguments `argnums`. Inside a manual computation a gradient varies over the
// axes that the scalar varies over: if each device has a loss of its own, each device gets its own
// gradient.
struct ValueAndGradients {
  ErasedResult value;
  std::vector<Array> gradients;
};
ValueAndGradients value_and_grad_erased(const ErasedCall& call, const std::vector<size_t>& argnums,
                                        const std::vector<Array>& leaves);

// The results of a call, and a list with one tangent for each of them.
struct ResultsAndTangents {
  std::vector<Array> results, tangents;
};
ResultsAndTangents jvp_flat(const ir::FlatFn& body, std::span<const Array> leaves,
                            std::span<const Array> tangents, const std::vector<std::string>& paths);

// A function at a point, with its tangent program.
struct Linearization;
using LinearizationRef = std::shared_ptr<const Linearization>;

// Returns the linearization by all leaves, under a trace. Throws UserError for a leaf that is not a
// float or complex array.
LinearizationRef linearize_all_flat(std::string_view op, const ir::FlatFn& body,
                                    std::span<const Array> leaves,
                                    const std::vector<std::string>& paths);
const std::vector<Array>& results_of(const Linearization& at);
const std::vector<Array>& residuals_of(const Linearization& at);
// Returns the linearization with these values in place of its tracers, for use outside of the
// trace.
LinearizationRef computed(const Linearization& at, std::vector<Array> results,
                          std::vector<Array> residuals);
// push_forward returns tangents of the results, given those of the arguments; pull_back returns
// cotangents of the arguments, given those of the results. Both throw UserError if their number or
// types are wrong.
std::vector<Array> push_forward(const Linearization& at, const std::vector<Array>& tangents);
std::vector<Array> pull_back(const Linearization& at, const std::vector<Array>& cotangents);
// Throws the UserError of jvp unless there is a tangent for each primal.
void expect_tangents(size_t primals, size_t tangents);

}  // namespace tessera::internal
