// custom_partitioning: a function whose author partitions it (JAX's custom_partitioning). The
// program says how its dimensions correspond, which propagation reads like the factors of any other
// op. What a device computes is known only when the shardings of its operands and results are: then
// the pass expand_custom_partitions (sharding/) asks the partitioner of that name.
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
  std::string config;                    // what the partitioner knows this call by
  std::vector<std::string> dtypes = {};  // of the results
  std::vector<Dims> shapes = {};
  // The factors (ir/factors.h): their sizes and kinds (the numbers of FactorKind), and those of each
  // dimension of each operand, then of each result. Empty: no dimension corresponds to another one.
  Dims sizes = {}, kinds = {};
  std::vector<Dims> dims = {};
};

// The same op without and with effects; the latter stays though its results are unused.
extern const OpDef& custom_partitioning_op;
extern const OpDef& custom_partitioning_effect_op;

// Returns the params if the op is one of the two, otherwise null.
const CustomPartitioningParams* custom_partitioning_of(const ir::Op& op);

// What a partitioner decides about one op.
struct CustomPartition {
  // What each device computes from its parts of the operands; collectives name axes of the mesh.
  ir::FunctionRef body;
  std::vector<NamedSharding> operands, results;  // on the mesh of the question
};

// Returns how an op with this config is partitioned. The types of its operands and results have
// their global shapes and the shardings that propagation chose, all on `mesh`; in a program without
// a mesh they have none, and `mesh` is empty.
using CustomPartitioner =
    std::function<CustomPartition(const std::string& config, const Mesh& mesh,
                                  std::span<const Type> operands, std::span<const Type> results)>;

// Makes the partitioner known under that name from now on, in place of another one of the name. Any
// thread may call these.
void set_custom_partitioner(const std::string& name, CustomPartitioner partitioner);
bool has_custom_partitioner(const std::string& name);
// Throws UserError if this process has no partitioner of that name.
CustomPartitioner find_custom_partitioner(const std::string& name);

}  // namespace tessera::ops
