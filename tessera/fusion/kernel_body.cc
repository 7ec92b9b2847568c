#include "tessera/fusion/kernel_body.h"

#include <cstring>

#include "tessera/ir/op_def.h"

namespace tessera {
namespace {

class Recorder final : public ExprBuilder {
 public:
  ScalarProgram program;

  using ExprBuilder::apply;
  Expr apply(ScalarOp op, DType result, std::span<const Expr> args) override {
    ScalarNode node{ScalarNode::Kind::kOp, result, op, {}, {}};
    for (Expr arg : args) node.args.push_back(arg.id);
    return add(std::move(node));
  }
  Expr constant(DType dtype, const void* bytes) override {
    ScalarNode node{ScalarNode::Kind::kConstant, dtype, ScalarOp::kAdd, {}, {}};
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
  for (ValueId input : body.inputs) {
    values[input] =
        recorder.add({ScalarNode::Kind::kInput, body.type(input).dtype, ScalarOp::kAdd, {}, {}});
  }
  recorder.program.inputs = static_cast<int>(body.inputs.size());
  for (const Op& op : body.ops) {
    const Pointwise* pointwise = std::get_if<Pointwise>(&op.def->lower);
    TESSERA_CHECK(pointwise && op.results.size() == 1, "{} in the body of a reduction",
                  op.def->name);
    std::vector<Expr> args;
    for (ValueId operand : op.operands) args.push_back(values[operand]);
    const std::vector<Type> types = body.types_of(op.operands);
    values[op.results[0]] =
        pointwise->emit(recorder, args, op.params, types, body.type(op.results[0]));
  }
  for (ValueId output : body.outputs) recorder.program.outputs.push_back(values[output].id);
  return std::move(recorder.program);
}

std::string_view scalar_op_name(ScalarOp op) {
  static constexpr std::string_view kNames[] = {
      "add",     "sub",        "mul",        "div",    "rem",     "min",      "max",     "pow",
      "atan2",   "nextafter",  "and",        "or",     "xor",     "shl",      "shr_l",   "shr_a",
      "neg",     "abs",        "not",        "sign",   "sqrt",    "rsqrt",    "cbrt",    "floor",
      "ceil",    "round_even", "round_away", "popcnt", "clz",     "exp",      "expm1",   "log",
      "log1p",   "sin",        "cos",        "tan",    "asin",    "acos",     "atan",    "sinh",
      "cosh",    "tanh",       "asinh",      "acosh",  "atanh",   "logistic", "erf",     "erfc",
      "erf_inv", "lgamma",     "digamma",    "fma",    "eq",      "ne",       "lt",      "le",
      "gt",      "ge",         "is_finite",  "select", "convert", "bitcast",  "complex", "real",
      "imag"};
  static_assert(std::size(kNames) == static_cast<size_t>(ScalarOp::kImag) + 1);
  return kNames[static_cast<size_t>(op)];
}

int scalar_op_arity(ScalarOp op) {
  if (op <= ScalarOp::kShrArithmetic) return 2;
  if (op <= ScalarOp::kDigamma) return 1;
  switch (op) {
    case ScalarOp::kFma:
    case ScalarOp::kSelect:
      return 3;
    case ScalarOp::kIsFinite:
    case ScalarOp::kConvert:
    case ScalarOp::kBitcast:
    case ScalarOp::kReal:
    case ScalarOp::kImag:
      return 1;
    default:
      return 2;  // comparisons, kComplex
  }
}

void verify_scalar_op(ScalarOp op, DType result, std::span<const DType> args) {
  TESSERA_CHECK(static_cast<int>(args.size()) == scalar_op_arity(op), "{} of {} operands",
                scalar_op_name(op), args.size());
  bool good = true;
  if (op <= ScalarOp::kDigamma || op == ScalarOp::kFma) {
    for (DType arg : args) good = good && arg == result;
  } else if (op >= ScalarOp::kEq && op <= ScalarOp::kGe) {
    good = result == bool_ && args[0] == args[1];
    if (op > ScalarOp::kNe) good = good && !is_complex(args[0]);
  } else if (op == ScalarOp::kIsFinite) {
    good = result == bool_ && is_floating(args[0]);
  } else if (op == ScalarOp::kSelect) {
    good = args[0] == bool_ && args[1] == result && args[2] == result;
  } else if (op == ScalarOp::kBitcast) {
    good = itemsize(result) == itemsize(args[0]) && is_complex(result) == is_complex(args[0]);
  } else if (op == ScalarOp::kComplex) {
    good = is_complex(result) && args[0] == real_dtype(result) && args[1] == args[0];
  } else if (op == ScalarOp::kReal || op == ScalarOp::kImag) {
    good = is_complex(args[0]) && result == real_dtype(args[0]);
  }
  TESSERA_CHECK(good, "{} of {} gives {}", scalar_op_name(op), fmt::join(args, ", "), result);

  // Which kinds an operation exists for.
  const DType operand = op == ScalarOp::kSelect ? args[1] : args[0];
  switch (op) {
    case ScalarOp::kAnd:
    case ScalarOp::kOr:
    case ScalarOp::kXor:
    case ScalarOp::kNot:
      good = !is_inexact(operand);
      break;
    case ScalarOp::kShl:
    case ScalarOp::kShrLogical:
    case ScalarOp::kShrArithmetic:
    case ScalarOp::kPopcnt:
    case ScalarOp::kClz:
      good = is_integer(operand);
      break;
    case ScalarOp::kAdd:
    case ScalarOp::kMul:
    case ScalarOp::kEq:
    case ScalarOp::kNe:
    case ScalarOp::kSelect:
    case ScalarOp::kConvert:
    case ScalarOp::kBitcast:
    case ScalarOp::kComplex:
    case ScalarOp::kReal:
    case ScalarOp::kImag:
      break;
    case ScalarOp::kSub:
    case ScalarOp::kDiv:
    case ScalarOp::kNeg:
      good = operand != bool_;
      break;
    case ScalarOp::kMin:
    case ScalarOp::kMax:
    case ScalarOp::kLt:
    case ScalarOp::kLe:
    case ScalarOp::kGt:
    case ScalarOp::kGe:
      good = !is_complex(operand);
      break;
    case ScalarOp::kRem:
    case ScalarOp::kPow:
    case ScalarOp::kAbs:
    case ScalarOp::kSign:
      good = is_integer(operand) || is_floating(operand);
      break;
    default:
      good = is_floating(operand);
  }
  TESSERA_CHECK(good, "{} is not defined for {}", scalar_op_name(op), operand);
}

}  // namespace tessera
