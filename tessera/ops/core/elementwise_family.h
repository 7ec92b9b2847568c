// What all elementwise ops share. A row of elementwise.def (or a file, if an op has params) holds
// what differs between ops; the functions here make the rest of each definition.
#pragma once

#include <cstring>
#include <memory>

#include "tessera/base/dtype_kinds.h"
#include "tessera/base/visit_dtype.h"
#include "tessera/ops/core/op.h"
#include "tessera/ops/core/scalar_emit.h"
#include "tessera/ops/core/scalar_math.h"

namespace tessera::ops::elementwise {

using namespace dtype_kinds;

// Throws UserError unless the operand's dtype is one of `kinds`.
void expect_kind(std::string_view op, Kinds kinds, const Type& operand);

enum class ResultIs : uint8_t { kSame, kRealPart, kPredicate };
DType result_dtype(ResultIs result, DType operand);

// Returns the result's type for operands of one dtype and shape; the result is weak if all are.
std::vector<Type> infer(std::string_view op, Kinds kinds, ResultIs result, size_t count,
                        std::span<const Type> operands);

// Applies a pointwise op to a batch: moves mapped dimensions to one position, broadcasts the
// operands that have none, and binds the op once. Bit k of `may_be_scalar` means that operand k may
// be a scalar next to larger operands (select's predicate, clamp's bounds); it is then not
// broadcast if it is not mapped.
BatchResult batch_pointwise(const OpDef& def, OpParams params, std::span<const Array> operands,
                            std::span<const int> dims, unsigned may_be_scalar = 0);

// Returns the operands of the property tests: all dtypes of the kinds, ranks 0 to 3, and an empty
// array.
std::vector<Sample> samples(Kinds kinds, size_t count, double low, double high);

// Evaluation. `f` takes and returns double for real dtypes, complex<double> for complex ones, and
// the element itself for integers and bool.
template <class T>
using Buffer = std::unique_ptr<T[]>;
Buffer<double> widen_real(const Literal& x);
Buffer<scalar::Complex> widen_complex(const Literal& x);
Literal narrow(const double* values, DType dtype, const Shape& shape);
Literal narrow(const scalar::Complex* values, DType dtype, const Shape& shape);
template <class T>
requires std::integral<T> Literal narrow(const T* values, DType dtype, const Shape& shape) {
  Literal out(dtype, shape);
  std::memcpy(out.mutable_raw(), values, static_cast<size_t>(out.bytes()));
  return out;
}

template <class X, class F, class... Xs>
Literal map_buffers(DType out, const Shape& shape, F f, const X* x, const Xs*... xs) {
  using R = decltype(f(*x, *xs...));
  const int64_t n = shape.elements();
  const Buffer<R> y(new R[static_cast<size_t>(n)]);
  for (int64_t i = 0; i < n; ++i) y[i] = f(x[i], xs[i]...);
  return narrow(y.get(), out, shape);
}

template <Kinds kinds, class F, class... L>
Literal map_literals(DType out, F f, const Literal& x, const L&... xs) {
  if constexpr ((kinds & kFloat) != 0) {
    if (is_floating(x.dtype()))
      return map_buffers(out, x.shape(), f, static_cast<const double*>(widen_real(x).get()),
                         static_cast<const double*>(widen_real(xs).get())...);
  }
  if constexpr ((kinds & kComplex) != 0) {
    using C = scalar::Complex;
    if (is_complex(x.dtype()))
      return map_buffers(out, x.shape(), f, static_cast<const C*>(widen_complex(x).get()),
                         static_cast<const C*>(widen_complex(xs).get())...);
  }
  if constexpr ((kinds & kBits) != 0) {
    return visit_dtype(x.dtype(), [&]<class T>(TypeTag<T>) -> Literal {
      if constexpr (std::same_as<T, bool>       ? (kinds & kBools) != 0
                    : std::unsigned_integral<T> ? (kinds & kUnsigned) != 0
                                                : std::integral<T> && (kinds & kSigned) != 0)
        return map_buffers(out, x.shape(), f, x.data<T>(), xs.template data<T>()...);
      TESSERA_CHECK(false, "{} is not of the op's dtypes", dtype_name(x.dtype()));
      return {};
    });
  }
  TESSERA_CHECK(false, "{} is not of the op's dtypes", dtype_name(x.dtype()));
  return {};
}

// Code generation. emit_op emits `op` for real numbers and integers. For bool it emits logical
// operations in place of arithmetic. For complex numbers it emits `of_complex`, a function of
// emit::Complex, or `op` itself if that is `native`.
constexpr ScalarOp of_bool(ScalarOp op) {
  switch (op) {
    case ScalarOp::kAdd:
    case ScalarOp::kMax:
      return ScalarOp::kOr;
    case ScalarOp::kMul:
    case ScalarOp::kMin:
      return ScalarOp::kAnd;
    default:
      return op;
  }
}
inline constexpr std::nullptr_t native = nullptr;

template <ScalarOp op, auto of_complex>
Expr emit_op(ExprBuilder& b, std::span<const Expr> args, const OpParams&, std::span<const Type>,
             const Type& result) {
  const DType operand = b.dtype_of(args[0]);
  if (operand == bool_) return b.apply(of_bool(op), result.dtype, args);
  if constexpr (!std::same_as<decltype(of_complex), std::nullptr_t>) {
    if (is_complex(operand)) {
      if constexpr (std::invocable<decltype(of_complex), emit::Complex>) {
        const auto out = of_complex(emit::parts(b, args[0]));
        if constexpr (std::same_as<decltype(out), const emit::Real>) {
          return out.e;
        } else {
          return emit::join(out);
        }
      } else {
        return emit::join(of_complex(emit::parts(b, args[0]), emit::parts(b, args[1])));
      }
    }
  }
  // The sign of an unsigned number is 1 or 0.
  if (op == ScalarOp::kSign && is_unsigned(operand))
    return b.apply(ScalarOp::kMin, operand, {args[0], b.integer(operand, 1)});
  return b.apply(op, result.dtype, args);
}

}  // namespace tessera::ops::elementwise
