// Sharding propagation: finds a sharding for every value, starting from those that the user gave
// (for inputs, constraints and outputs).
//
// Before: a traced Function with global shapes; some inputs, outputs and sharding_constraint ops
//         carry shardings, on meshes that hold the same devices.
// After:  every type of the function has a closed `sharding` on one mesh, program_mesh(); nothing
//         else has changed. Values inside manual computations are sharded over the axes that are
//         not manual there.
//
// The algorithm is Shardy's (aggressive strategy, tiers over op priorities), over the factors of
// each op: see docs/sharding.md.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/namespaces.h"
#include "tessera/ir/forward.h"
#include "tessera/ir/function.h"
#include "tessera/mesh/named_sharding.h"

namespace tessera::ir {

struct ShardingRequest {
  // For each input or output of the function: its sharding; nullopt: propagation chooses.
  std::vector<std::optional<NamedSharding>> inputs, outputs;
  // Axes to compute on as if they had this many devices (finer_mesh.h); propagate() ignores them.
  AxisSizes compute_as = {};
};

}  // namespace tessera::ir

namespace tessera::sharding {

// Returns the mesh on which all shardings of a program are written: the finest of those that they
// name; among meshes of equal rank that of the inputs. Meshes with the same order of devices are
// different names for the same axes: with ('x': 8) and ('a': 2, 'b': 4), 'x' reads as ('a', 'b');
// with ('x': 2, 'y': 4) and ('a': 4, 'b': 2), 'a' is 'x' and a part of 'y'. Throws UserError if
// meshes have different devices, or (from propagate) the same in another order.
Mesh program_mesh(const Function& function, const ShardingRequest& request);

// Returns the function with its constraints written on `mesh`, and a constraint on each output for
// which the request has a sharding. Before: flat (flatten_regions.h).
Function pin_shardings(const Function& function, const Mesh& mesh, const ShardingRequest& request);

// Returns the function with a sharding for every value. Before: flat, with constraints on `mesh`
// (pin_shardings). The shardings of the inputs and constraints in `held_back` spread only after all
// others have spread.
Function propagate(const Function& function, const Mesh& mesh, const ShardingRequest& request,
                   const ValueIds& held_back = {});
// Returns the result of propagate() for each of `orders` (lists of values to hold back), without
// results that equal an earlier one.
std::vector<Function> propagate_in_orders(const Function& function, const Mesh& mesh,
                                          const ShardingRequest& request,
                                          std::span<const ValueIds> orders);

}  // namespace tessera::sharding
