// Ops of StableHLO, CHLO and custom calls that Tessera expresses by its own ops. Each function adds
// those ops for the op that the reader holds, and returns the results. The table (op_table.h) has a
// row for each.
#pragma once

#include <string>
#include <vector>

#include "tessera/interchange/op_format.h"

namespace tessera::interchange::foreign {

using Values = std::vector<ValueId>;

// Throws UserError unless the op has that many operands.
void expect_count(const OpReader& reader, size_t count);
// Marks those attributes as used that any custom call may have, except the names of what it calls.
void ignore_call_attributes(OpReader& reader);

// --- arithmetic.cc, special_functions.cc ---
Values square(OpReader& reader);
Values mulhi(OpReader& reader);
Values tan(OpReader& reader);
Values real(OpReader& reader);
Values imag(OpReader& reader);
Values map(OpReader& reader);
Values bitcast_convert(OpReader& reader);
Values bessel_i0e(OpReader& reader);
Values bessel_i1e(OpReader& reader);
Values polygamma(OpReader& reader);
Values zeta(OpReader& reader);

// --- older_ops.cc, batch_norm.cc ---
Values broadcast(OpReader& reader);
Values dot(OpReader& reader);
Values einsum(OpReader& reader);
Values unary_einsum(OpReader& reader);
Values torch_index_select(OpReader& reader);
Values batch_norm_training(OpReader& reader);
Values batch_norm_inference(OpReader& reader);
Values batch_norm_grad(OpReader& reader);

// --- program_ops.cc ---
Values partition_id(OpReader& reader);
Values replica_id(OpReader& reader);
Values async_start(OpReader& reader);
Values async_done(OpReader& reader);
Values create_token(OpReader& reader);
Values after_all(OpReader& reader);
Values optimization_barrier(OpReader& reader);
Values composite(OpReader& reader);
Values get_dimension_size(OpReader& reader);
Values annotate_device_placement(OpReader& reader);  // custom calls
Values dce_sink(OpReader& reader);
Values control_dep(OpReader& reader);
Values layout_constraint(OpReader& reader);
Values sharding_group(OpReader& reader);

// --- async_collectives.cc: custom calls ---
Values all_gather_start(OpReader& reader);
Values all_reduce_start(OpReader& reader);
Values all_to_all_start(OpReader& reader);
Values collective_permute_start(OpReader& reader);
Values reduce_scatter_start(OpReader& reader);
Values collective_done(OpReader& reader);  // of each of these

// --- rooted_collectives.cc ---
Values collective_broadcast(OpReader& reader);
Values collective_reduce(OpReader& reader);

// --- scan.cc, top_k.cc, ragged_dot.cc, rng_bit_generator.cc ---
Values scan(OpReader& reader);
Values top_k(OpReader& reader);
Values ragged_dot(OpReader& reader);
Values rng_bit_generator(OpReader& reader);

// --- dynamic.cc ---
Values dynamic_broadcast_in_dim(OpReader& reader);
Values dynamic_conv(OpReader& reader);
Values dynamic_gather(OpReader& reader);
Values dynamic_iota(OpReader& reader);
Values dynamic_pad(OpReader& reader);
Values dynamic_reshape(OpReader& reader);
Values real_dynamic_slice(OpReader& reader);
Values dynamic_reduce_window(OpReader& reader);  // custom calls
Values dynamic_rng_bit_generator(OpReader& reader);
Values dynamic_top_k(OpReader& reader);
Values shape_assertion(OpReader& reader);

// --- sharding_call.cc, lapack_calls.cc, ffi_call.cc: custom calls ---
Values sharding_call(OpReader& reader);
Values approx_top_k(OpReader& reader);
// Handles any target in lapack_targets().
Values lapack_call(OpReader& reader);
const std::vector<std::string>& lapack_targets();
// Handles any target that is registered in this process.
Values ffi_call(OpReader& reader);

}  // namespace tessera::interchange::foreign
