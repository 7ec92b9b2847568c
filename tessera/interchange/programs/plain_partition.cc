#include "tessera/interchange/programs/plain_partition.h"

#include <numeric>

#include "tessera/interchange/op_format.h"
#include "tessera/interchange/programs/map_regions.h"
#include "tessera/ir/append_ops.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/collectives/collectives.h"
#include "tessera/ops/collectives/collectives_groups.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/op.h"
#include "tessera/ops/fourier/fft.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"
#include "tessera/trace/trace.h"

namespace tessera::interchange {
namespace {

// Other programs do not have this op: a device has coordinates in a mesh there.
const OpDef& replica_id_op() {
  static const OpDef& def = []() -> const OpDef& {
    OpDef& made = *new OpDef;
    made.name = "replica_id";
    made.params = NoParams{};
    made.infer.call = [](void (*)(), std::span<const Type>, const OpParams&) -> std::vector<Type> {
      return {Type{.dtype = uint32}};
    };
    return made;
  }();
  return def;
}

Array rank_along(const AxisIndexParams& p) {
  const std::vector<int64_t> logical = logical_device_ids(p.mesh);
  Literal ranks(int32, {p.mesh.size()});
  auto* to = ranks.mutable_data<int32_t>();
  for (const std::vector<int64_t>& line : device_groups(p.mesh, p.axes, {}))
    for (size_t rank = 0; rank < line.size(); ++rank)
      to[logical[static_cast<size_t>(line[rank])]] = static_cast<int32_t>(rank);
  const Array id = lax::convert_element_type(bind_op1(replica_id_op(), NoParams{}, {}), int32);
  return lax::reshape(lax::dynamic_slice(lax::constant(ranks), {&id, 1}, {1}), {});
}

Array fft_along(const Array& x, const FftAlongParams& p) {
  Dims order(static_cast<size_t>(x.ndim()), 0);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[p.dimension], order.back());  // the permutation is its own inverse
  const Array last = lax::transpose(x, order);
  return lax::transpose(lax::fft(last, p.type, {x.shape(p.dimension)}), order);
}

// Returns a function of the op's operands that replaces it, or nullptr if the op stays.
FlatFn plain_form(const Op& op) {
  if (op.operands.size() > 1 && (op.def == &reduce_scatter_op || op.def == &all_to_all_op ||
                                 op.def == &collective_permute_op))
    return [&op](const std::vector<Array>& operands) {
      std::vector<Array> out;
      for (const Array& x : operands) out.push_back(bind_op1(*op.def, op.params, {x}));
      return out;
    };
  if (op.def == &axis_index_op)
    return [&op](const std::vector<Array>&) {
      return std::vector{rank_along(op.params.as<AxisIndexParams>())};
    };
  if (op.def == &fft_along_op)
    return [&op](const std::vector<Array>& x) {
      return std::vector{fft_along(x[0], op.params.as<FftAlongParams>())};
    };
  return nullptr;
}

}  // namespace

Function plain_partition(const Function& f) {
  return rewritten(f, [&](Function& out, const ValueIds& inputs) {
    return append_ops(f, inputs, [&](const Op& op, ValueIds operands) -> ValueIds {
      if (op.def == &pcast_op) return operands;
      if (const FlatFn form = plain_form(op)) {
        const TracedFunction traced = trace_function(form, f.types_of(op.operands));
        return append_ops(traced.function, operands, [&](const Op& made, ValueIds values) {
          return out.add_op(Op{made.def, made.params, std::move(values), {}, op.source, op.reason},
                            traced.function.types_of(made.results));
        });
      }
      return out.add_op(copy_of(op, map_regions(op, plain_partition), std::move(operands)),
                        f.types_of(op.results));
    });
  });
}

}  // namespace tessera::interchange
