// Formats of ops in StableHLO and Shardy text that are more than a list of their attributes
// (op_format.h). The table of ops (op_table.h) has them by the ops' names.
#pragma once

#include "tessera/interchange/op_format.h"

namespace tessera::interchange::formats {

// EQ, %0, %1, FLOAT; the comparison type may be missing.
OpFormat compare();
// dense<1.0> : tensor<4xf32>
OpFormat constant();
// %0, %1, batching_dims = [0] x [0], contracting_dims = [2] x [1]; precision is a hint
OpFormat dot_general();
// (%0 init: %1) applies stablehlo.add across dimensions = [0], or with a region `reducer`
OpFormat reduce();
// <{padding = dense<...>, window_dimensions = array<i64: 2>, ...}> ({ region })
OpFormat reduce_window();
OpFormat select_and_scatter();
// <{dimension = 0 : i64, is_stable = true}> ({ region })
OpFormat sort();
// @f(%0) {mhlo.frontend_attributes = {name = "value"}}
OpFormat call();
// Returns a body with its calls inlined, and without the sharding constraints on scalars that JAX
// adds, which have no effect.
FunctionRef plain_body(const FunctionRef& body);
// <{dimension_numbers = #stablehlo.gather<...>, slice_sizes = array<i64: 1, 8>}>
OpFormat gather();
// <{scatter_dimension_numbers = #stablehlo.scatter<...>, ...}> ({ region })
OpFormat scatter();
// (%0, %1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], ...}
OpFormat convolution();
// %0, type = FFT, length = [8]
OpFormat fft();
// %0, lower = true
OpFormat cholesky();
// <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, ...}>
OpFormat triangular_solve();
// %0, format = e5m10
OpFormat reduce_precision();
// %0 <@mesh, [{"x"}, {}]>
OpFormat sharding_constraint();
// (%0) in_shardings=[...] out_shardings=[...] manual_axes={"x"} (%arg0: tensor<4xf32>) {...}
OpFormat manual_computation();
// (%iterArg = %0, ...) : types cond {...} do {...}
OpFormat while_loop();
// The generic form, "stablehlo.case"(%index) ({...}, {...}), or "stablehlo.if" if the index is a
// bool. Regions have no inputs: they use values by name.
OpFormat branches();
// Adds the case for the reader's stablehlo.if and returns its results.
std::vector<ValueId> read_if(OpReader& reader);
// The generic form with StableHLO's replica_groups. `tessera.axes`, `tessera.mesh` and
// `tessera.groups` express the same by mesh axes. If the text has none of these, the axes are found
// from its groups.
OpFormat collective();

// Rules for outer scalars in the regions of map, reduce and sort (captured_scalars.cc).
void capture_in_map(OpReader& reader);
void capture_in_reduce(OpReader& reader);
void capture_in_sort(OpReader& reader);

}  // namespace tessera::interchange::formats
