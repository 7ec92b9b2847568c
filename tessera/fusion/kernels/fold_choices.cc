#include "tessera/fusion/kernels/fold_choices.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstring>

#include "tessera/ir/scalar_op.h"

namespace tessera::fusion {
namespace {

using Bytes = std::array<std::byte, 16>;

template <class T>
T read(const Bytes& bytes) {
  T out;
  std::memcpy(&out, bytes.data(), sizeof(T));
  return out;
}
template <class T>
Bytes written(T value) {
  Bytes out{};
  std::memcpy(out.data(), &value, sizeof(T));
  return out;
}

// A node that has one of two values: `then` if the bool node `predicate` is true, else `other`. A
// constant has no predicate, and both values are the same.
struct Choice {
  int predicate = -1;
  Bytes then{}, other{};
};

std::optional<Choice> choice_of(const std::vector<KernelNode>& nodes, int id) {
  const auto node = [&](int i) -> const KernelNode& { return nodes[static_cast<size_t>(i)]; };
  if (node(id).kind == NodeKind::kConstant)
    return Choice{.then = node(id).immediate, .other = node(id).immediate};
  if (node(id).kind != NodeKind::kScalarOp || node(id).op != ScalarOp::kSelect) return std::nullopt;
  const auto& args = node(id).args;
  if (node(args[1]).kind != NodeKind::kConstant || node(args[2]).kind != NodeKind::kConstant)
    return std::nullopt;
  return Choice{args[0], node(args[1]).immediate, node(args[2]).immediate};
}

// Arithmetic of numbers. Returns nullopt for other operations, for a product that is rounded (a sum
// would have it as one operand of a fused multiply-add), and if the result is NaN, whose sign
// depends on the processor.
template <class T>
std::optional<Bytes> computed(ScalarOp op, T x, T y) {
  const auto number = [](T value) -> std::optional<Bytes> {
    if (value != value) return std::nullopt;
    return written(value);
  };
  switch (op) {
    case ScalarOp::kAdd:
      return number(x + y);
    case ScalarOp::kSub:
      return number(x - y);
    case ScalarOp::kMul:
      if (!std::isfinite(x * y) || std::fma(x, y, -(x * y)) != 0) return std::nullopt;
      return number(x * y);
    case ScalarOp::kDiv:
      return number(x / y);
    case ScalarOp::kNeg:
      return number(-x);
    case ScalarOp::kAbs:
      return number(std::abs(x));
    case ScalarOp::kIsFinite:
      return written(std::isfinite(x));
    case ScalarOp::kEq:
      return written(x == y);
    case ScalarOp::kNe:
      return written(x != y);
    case ScalarOp::kLt:
      return written(x < y);
    case ScalarOp::kLe:
      return written(x <= y);
    case ScalarOp::kGt:
      return written(x > y);
    case ScalarOp::kGe:
      return written(x >= y);
    default:
      return std::nullopt;
  }
}

std::optional<Bytes> computed(ScalarOp op, bool x, bool y) {
  switch (op) {
    case ScalarOp::kAnd:
      return written(x && y);
    case ScalarOp::kOr:
      return written(x || y);
    case ScalarOp::kNot:
      return written(!x);
    default:
      return std::nullopt;
  }
}

template <class T>
std::optional<Bytes> computed(ScalarOp op, std::complex<T> x) {
  if (op == ScalarOp::kReal) return written(x.real());
  if (op == ScalarOp::kImag) return written(x.imag());
  return std::nullopt;
}

std::optional<Bytes> computed(ScalarOp op, DType dtype, const Bytes& x, const Bytes& y) {
  if (dtype == float32) return computed(op, read<float>(x), read<float>(y));
  if (dtype == float64) return computed(op, read<double>(x), read<double>(y));
  if (dtype == bool_) return computed(op, read<bool>(x), read<bool>(y));
  if (dtype == complex64) return computed(op, read<std::complex<float>>(x));
  if (dtype == complex128) return computed(op, read<std::complex<double>>(x));
  return std::nullopt;
}

// An operation on one or two choices by the same predicate.
std::optional<Expr> fold_values(ExprBuilder& b, const std::vector<KernelNode>& nodes, ScalarOp op,
                                DType result, std::span<const Expr> args) {
  std::array<Choice, 2> choices;
  int predicate = -1;
  for (size_t k = 0; k < args.size(); ++k) {
    const std::optional<Choice> choice = choice_of(nodes, args[k].id);
    if (!choice) return std::nullopt;
    if (choice->predicate >= 0 && predicate >= 0 && choice->predicate != predicate)
      return std::nullopt;
    predicate = std::max(predicate, choice->predicate);
    choices[k] = *choice;
  }
  const DType dtype = b.dtype_of(args[0]);
  const auto then = computed(op, dtype, choices[0].then, choices[1].then),
             other = computed(op, dtype, choices[0].other, choices[1].other);
  if (!then || !other) return std::nullopt;
  const Expr x = b.constant(result, then->data());
  if (*then == *other) return x;
  const Expr y = b.constant(result, other->data());
  return b.apply(ScalarOp::kSelect, result, {{predicate}, x, y});
}

}  // namespace

std::optional<Expr> fold_choices(ExprBuilder& b, const std::vector<KernelNode>& nodes, ScalarOp op,
                                 DType result, std::span<const Expr> args) {
  const auto constant = [&](Expr e) -> const KernelNode* {
    const KernelNode& node = nodes[static_cast<size_t>(e.id)];
    return node.kind == NodeKind::kConstant ? &node : nullptr;
  };
  if (op == ScalarOp::kSelect) {
    if (const KernelNode* p = constant(args[0])) return args[read<bool>(p->immediate) ? 1 : 2];
    if (args[1].id == args[2].id) return args[1];
    return std::nullopt;
  }
  if (args.empty() || args.size() > 2) return std::nullopt;
  if ((op == ScalarOp::kAnd || op == ScalarOp::kOr) && result == bool_)
    for (size_t k : {0, 1})
      if (const KernelNode* p = constant(args[k])) {
        const bool decides = read<bool>(p->immediate) == (op == ScalarOp::kOr);
        return decides ? args[k] : args[1 - k];
      }
  return fold_values(b, nodes, op, result, args);
}

}  // namespace tessera::fusion
