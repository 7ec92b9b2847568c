#include "tessera/ops/control/partitioned_callback.h"

#include <string>

#include "tessera/ir/token_type.h"
#include "tessera/ops/control/callback_params.h"
#include "tessera/ops/control/host_callback.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/op.h"

namespace tessera::ops {
namespace {

constexpr const char* kPartitioner = "partitioned_callback";

// Returns the sharding without axes that do not divide the dimension that they shard.
NamedSharding divided_evenly(const NamedSharding& sharding, const Shape& shape) {
  std::vector<DimSpec> dims;
  for (int64_t d = 0; d < shape.rank(); ++d)
    dims.push_back(shape[d] % sharding.num_shards(d) ? DimSpec(None)
                                                     : DimSpec(sharding.dim_axes(d)));
  return {sharding.mesh(), PartitionSpec(std::move(dims))};
}

ValueId add(ir::Function& f, const OpDef& def, OpParams params, ir::ValueIds operands) {
  const std::vector<Type> types = ir::infer_types(def, f.types_of(operands), params);
  return f.add_op(def, std::move(params), std::move(operands), types)[0];
}

CustomPartition leave_in_place(const std::string& config, const Mesh& mesh,
                               std::span<const Type> operands, std::span<const Type>) {
  CustomPartition out;
  ir::Function body;
  body.name = kPartitioner;
  std::vector<int64_t> extents;
  for (const Type& type : operands) {
    out.operands.push_back(type.sharding ? divided_evenly(*type.sharding, type.shape)
                                         : NamedSharding());
    const Shape local = out.operands.back().shard_shape(type.shape);
    body.add_input({.dtype = type.dtype, .shape = local, .weak = type.weak});
    extents.insert(extents.end(), local.begin(), local.end());
  }
  const Shape count{static_cast<int64_t>(extents.size())};
  ir::ValueIds args{
      add(body, constant_op, constant_params(Literal::from<int64_t>(extents, count)), {})};
  args.insert(args.end(), body.inputs.begin(), body.inputs.end());
  body.outputs.push_back(
      add(body, io_callback_op, callback_params(std::stoll(config), {ir::token_type()}), args));
  out.body = std::make_shared<const ir::Function>(std::move(body));
  out.results.emplace_back(mesh, PartitionSpec());
  return out;
}

}  // namespace

CustomPartitioningParams partitioned_callback_params(int64_t function) {
  static const bool known = (set_custom_partitioner(kPartitioner, leave_in_place), true);
  TESSERA_CHECK(known, "a partitioner of callbacks");
  const Type token = ir::token_type();
  return {.partitioner = kPartitioner,
          .config = std::to_string(function),
          .dtypes = {std::string(mlir_name(token.dtype))},
          .shapes = {Dims(token.shape)}};
}

}  // namespace tessera::ops
