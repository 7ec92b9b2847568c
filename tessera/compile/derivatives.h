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

// The results of a call, a real scalar first, and the gradients of that scalar by the leaves of the
// arguments `argnums`. Inside a manual computation a gradient varies over the axes that the scalar
// varies over: for a loss that each device has for itself, each device gets its own gradient.
struct ValueAndGradients {
  ErasedResult value;
  std::vector<Array> gradients;
};
ValueAndGradients value_and_grad_erased(const ErasedCall& call, const std::vector<size_t>& argnums,
                                        const std::vector<Array>& leaves);

// Results and tangents; `tangents` has one entry for each leaf.
struct ResultsAndTangents {
  std::vector<Array> results, tangents;
};
ResultsAndTangents jvp_flat(const ir::FlatFn& body, std::span<const Array> leaves,
                            std::span<const Array> tangents, const std::vector<std::string>& paths);

// A function at a point, with its tangent program.
struct Linearization;
using LinearizationRef = std::shared_ptr<const Linearization>;

// Linearizes by all leaves, under a trace. Throws UserError for a leaf that is no float or complex
// array.
LinearizationRef linearize_all_flat(std::string_view op, const ir::FlatFn& body,
                                    std::span<const Array> leaves,
                                    const std::vector<std::string>& paths);
const std::vector<Array>& results_of(const Linearization& at);
const std::vector<Array>& residuals_of(const Linearization& at);
// Returns the same outside of the trace, with the values of its tracers.
LinearizationRef computed(const Linearization& at, std::vector<Array> results,
                          std::vector<Array> residuals);
// Return tangents of the results from those of the arguments, and cotangents of the arguments from
// those of the results. They throw UserError for another number or other types.
std::vector<Array> push_forward(const Linearization& at, const std::vector<Array>& tangents);
std::vector<Array> pull_back(const Linearization& at, const std::vector<Array>& cotangents);
// Throws the UserError of jvp unless there is a tangent for each primal.
void expect_tangents(size_t primals, size_t tangents);

}  // namespace tessera::internal
