#include "tessera/ops/reductions/written_kind.h"

#include "tessera/ir/op_def.h"
#include "tessera/ops/reductions/reduce.h"

namespace tessera::ops {

bool is_one_op(const Function& body) {
  return body.ops.size() == 1 && body.inputs.size() == 2 && body.outputs.size() == 1 &&
         body.ops[0].operands.size() == 2 && body.ops[0].operands[0] == body.inputs[0] &&
         body.ops[0].operands[1] == body.inputs[1] && body.ops[0].results.size() == 1 &&
         body.outputs[0] == body.ops[0].results[0] && body.ops[0].def->attributes.empty();
}

ReduceKind written_kind(const Function& body) {
  const DType dtype = body.inputs.empty() ? float32 : body.type(body.inputs[0]).dtype;
  if (is_one_op(body) && (dtype == bool_ || is_complex(dtype))) {
    if (body.ops[0].def->name == "minimum") return ReduceKind::kMin;
    if (body.ops[0].def->name == "maximum") return ReduceKind::kMax;
  }
  return classify_reduce_body(body);
}

}  // namespace tessera::ops
