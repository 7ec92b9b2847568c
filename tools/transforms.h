// Transforms of whole programs: `tessera grad` and `tessera vmap` apply them, and tessera-opt by
// name among its passes. Each makes a traced program of a traced one; they come before all passes
// of the pipeline.
//
//   count_loops   while loops of known length as scans (interchange/programs/count_loops.h)
//   lower_scans   the opposite: a program that other consumers of StableHLO run, too
//   checkpoint    the body of each scan computed again for a derivative instead of kept
//   grad          (arguments...) -> [value,] gradients; loops are counted first
//   vmap          every result over a batch of mapped arguments
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/program.h"

namespace tessera::tools {

// Return the names of the transforms, and the transform of a name; nullopt if there is none.
// UserErrors name the transform.
const std::vector<std::string_view>& transform_names();
std::optional<Program> transformed(std::string_view name, const Program& program,
                                   const TransformOptions& options);

// Returns the gradient of the program's scalar result or, with a seed, of the sum over all
// floating-point results r of sum(cos(seed + r + i) * real(result[i])), where i is the element's
// index in row-major order.
Program gradient_of(const Program& program, const TransformOptions& options);
// Returns the program over a batch: results are mapped at their first dimension.
Program batched(const Program& program, const TransformOptions& options);
// Returns the function with the bodies of its scans behind checkpoint.
ir::Function checkpoint_loops(const ir::Function& function);

}  // namespace tessera::tools
