// Transforms of whole programs. `tessera grad` and `tessera vmap` apply them, and tessera-opt
// applies them by name among its passes. Each takes a traced program and returns one; transforms
// come before all passes of the pipeline.
//
//   count_loops   makes while loops of known length scans (interchange/programs/count_loops.h)
//   lower_scans   the opposite: the program can then be run by other consumers of StableHLO
//   checkpoint    derivatives compute the body of each scan again instead of keeping its values
//   grad          (arguments...) -> [value,] gradients; loops are counted first
//   vmap          every result over a batch of mapped arguments
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/program.h"

namespace tessera::tools {

// transform_names() returns the names of the transforms. transformed() applies the transform of a
// name; it returns nullopt if there is none. UserErrors name the transform.
const std::vector<std::string_view>& transform_names();
std::optional<Program> transformed(std::string_view name, const Program& program,
                                   const TransformOptions& options);

// Returns the program of the gradient of the scalar result or, with a seed, of the sum over all
// floating-point results r of sum(cos(seed + r + i) * real(result[i])), in which i is the element's
// index in row-major order.
Program gradient_of(const Program& program, const TransformOptions& options);
// Returns the program over a batch. The first dimension of each result is that of the batch.
Program batched(const Program& program, const TransformOptions& options);
// Returns the function with the bodies of its scans in a checkpoint.
ir::Function checkpoint_loops(const ir::Function& function);

}  // namespace tessera::tools
