// custom_partitioning: a function whose author partitions it (JAX's custom_partitioning). Its
// params say which dimensions correspond, and propagation reads these like the factors of any other
// op. What a device computes is known only when the shardings of its operands and results are: then
// the pass expand_custom_partitions (sharding/) calls the partitioner of the op's name.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/ir/factors.h"
#include "tessera/ir/function.h"
#include "tessera/mesh/named_sharding.h"

namespace tessera::ops {

struct CustomPartitioningParams {
  std::string partitioner;               // the name of the partitioner
  std::string config;                    // the partitioner's name for this call
  std::vector<std::string> dtypes = {};  // dtypes of the results
  std::vector<Dims> shapes = {};
  // The factors (ir/factors.h): their sizes, their kinds (as numbers of FactorKind) and, in `dims`,
  // the factors of each dimension of each operand, then of each result. If they are empty, no
  // dimension corresponds to another one.
  Dims sizes = {}, kinds = {};
  std::vector<Dims> dims = {};
};

// The op without and with effects; the op with effects stays in the program even if no result is
// used.
extern const OpDef& custom_partitioning_op;
extern const OpDef& custom_partitioning_effect_op;

// Returns the params if the op is one of these two, otherwise null.
const CustomPartitioningParams* custom_partitioning_of(const ir::Op& op);

// What a partitioner decides about one op.
struct CustomPartition {
  // The function that each device runs on its parts of the operands; collectives name axes of the
  // mesh.
  ir::FunctionRef body;
  std::vector<NamedSharding> operands, results;  // on the mesh that the partitioner was called with
};

// Returns how an op with this config is partitioned. The types of its operands and results have
// their global shapes and the shardings that propagation chose, all on `mesh`; in a program without
// a mesh they have none, and `mesh` is empty.
using CustomPartitioner =
    std::function<CustomPartition(const std::string& config, const Mesh& mesh,
                                  std::span<const Type> operands, std::span<const Type> results)>;

// Registers the partitioner under that name, in place of any earlier one. These functions may be
// called from any thread.
void set_custom_partitioner(const std::string& name, CustomPartitioner partitioner);
bool has_custom_partitioner(const std::string& name);
// Returns the partitioner of that name. Throws UserError if this process has none.
CustomPartitioner find_custom_partitioner(const std::string& name);

}  // namespace tessera::ops
