#include "tessera/interchange/programs/clamp_gathers.h"

#include "tessera/interchange/programs/map_regions.h"
#include "tessera/ir/append_ops.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/indexing/gather.h"
#include "tessera/ops/indexing/indexed_windows.h"
#include "tessera/trace/trace.h"

namespace tessera::interchange {

Function clamp_gathers(const Function& f) {
  return rewritten(f, [&](Function& out, const ValueIds& inputs) {
    const auto add = [&](const Function& from, const Op& op, OpParams params, ValueIds operands) {
      return out.add_op(copy_of(op, std::move(params), std::move(operands)),
                        from.types_of(op.results));
    };
    return append_ops(f, inputs, [&](const Op& op, ValueIds operands) {
      if (op.def == &gather_op) {
        const Type &x = f.type(op.operands[0]), &starts = f.type(op.operands[1]);
        const IndexedWindows windows =
            gather_windows(op.params.as<GatherParams>(), x.shape, starts.shape);
        const Function clamp = trace_function(
                                   [&](const std::vector<Array>& in) {
                                     return std::vector{lax::clamped_starts(windows, in[0])};
                                   },
                                   {&starts, 1})
                                   .function;
        operands[1] =
            append_ops(clamp, ValueIds{operands[1]}, [&](const Op& made, ValueIds values) {
              return add(clamp, made, made.params, std::move(values));
            })[0];
      }
      return add(f, op, map_regions(op, clamp_gathers), std::move(operands));
    });
  });
}

}  // namespace tessera::interchange
