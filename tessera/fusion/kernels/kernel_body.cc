#include "tessera/fusion/kernels/kernel_body.h"

#include <cstring>

#include "tessera/ir/op_def.h"

namespace tessera::fusion {
namespace {

class Recorder final : public ExprBuilder {
 public:
  ScalarProgram program;

  using ExprBuilder::apply;
  Expr apply(ScalarOp op, DType result, std::span<const Expr> args) override {
    ScalarNode node{.kind = ScalarNode::Kind::kOp, .dtype = result, .op = op};
    for (Expr arg : args) node.args.push_back(arg.id);
    return add(std::move(node));
  }
  Expr constant(DType dtype, const void* bytes) override {
    ScalarNode node{.kind = ScalarNode::Kind::kConstant, .dtype = dtype};
    std::memcpy(node.immediate.data(), bytes, static_cast<size_t>(itemsize(dtype)));
    return add(std::move(node));
  }
  Expr index(int, DType) override {
    TESSERA_CHECK(false, "the body of a reduction has no index");
    return {};
  }
  DType dtype_of(Expr expr) const override { return program.nodes.at(expr.id).dtype; }

  Expr add(ScalarNode node) {
    program.nodes.push_back(std::move(node));
    return {static_cast<int>(program.nodes.size()) - 1};
  }
};

}  // namespace

ScalarProgram record_body(const Function& body) {
  Recorder recorder;
  std::vector<Expr> values(body.types.size());
  for (ValueId input : body.inputs)
    values[input] =
        recorder.add({.kind = ScalarNode::Kind::kInput, .dtype = body.type(input).dtype});
  for (const Op& op : body.ops) {
    const Pointwise* pointwise = std::get_if<Pointwise>(&op.def->lower);
    TESSERA_CHECK(pointwise && op.results.size() == 1, "{} in the body of a reduction",
                  op.def->name);
    std::vector<Expr> args;
    for (ValueId operand : op.operands) args.push_back(values[operand]);
    values[op.results[0]] = pointwise->emit(recorder, args, op.params, body.types_of(op.operands),
                                            body.type(op.results[0]));
  }
  for (ValueId output : body.outputs) recorder.program.outputs.push_back(values[output].id);
  return std::move(recorder.program);
}

}  // namespace tessera::fusion
