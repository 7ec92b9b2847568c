#include "tessera/ops/core/complex.h"

#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/elementwise_family.h"

namespace tessera::ops {
namespace {

using namespace array_math;
using namespace elementwise;

DType complex_of(DType part) { return part == float64 ? complex128 : complex64; }

std::vector<Type> infer_complex(std::span<const Type> operands, const NoParams&) {
  std::vector<Type> out = infer("complex", kFloat, ResultIs::kSame, 2, operands);
  const DType part = operands[0].dtype;
  if (part != float32 && part != float64)
    type_error(
        "complex",
        "expected float32 or float64 parts (I1), got {}; convert them with convert_element_type",
        describe(operands[0]));
  out[0].dtype = complex_of(part);
  return out;
}

Expr emit_complex(ExprBuilder& b, std::span<const Expr> args, const OpParams&,
                  std::span<const Type>, const Type& result) {
  return b.apply(ScalarOp::kComplex, result.dtype, args);
}
Expr emit_conj(ExprBuilder& b, std::span<const Expr> args, const OpParams&, std::span<const Type>,
               const Type&) {
  const emit::Complex z = emit::parts(b, args[0]);
  return emit::join({z.re, -z.im});
}

Factors factors(std::span<const Type> x, std::span<const Type> z, const NoParams&) {
  return pointwise_factors(x, z);
}

// The function is linear, so it computes the tangent from the operand's tangent.
JvpResult linear_jvp(Array (*f)(const Array&), std::span<const Array> x, std::span<const Array> t) {
  return {{f(x[0])}, {t[0].defined() ? f(t[0]) : Array()}};
}

}  // namespace

const OpDef& complex_op = define<NoParams>({
    .name = "complex",
    .infer = infer_complex,
    .evaluate =
        [](std::span<const Literal> x, const NoParams&) {
          return std::vector{map_literals<kFloat>(
              complex_of(x[0].dtype()),
              [](double re, double im) { return scalar::Complex(re, im); }, x[0], x[1])};
        },
    .factors = factors,
    .lower = Pointwise{emit_complex},
    .jvp = {[](std::span<const Array> x, std::span<const Array> t, const NoParams&) -> JvpResult {
      const Array z = lax::complex(x[0], x[1]);
      if (!t[0].defined() && !t[1].defined()) return {{z}, {Array()}};
      return {{z},
              {lax::complex(t[0].defined() ? t[0] : lax::full_like(x[0], 0),
                            t[1].defined() ? t[1] : lax::full_like(x[1], 0))}};
    }},
    // For z = x + iy, the transpose of the complex-linear function gives y the cotangent
    // Re(i ct) = -Im(ct).
    .transpose = {[](std::span<const Array> ct, std::span<const Array>,
                     const std::vector<bool>& linear, const NoParams&) {
      return std::vector{linear[0] ? lax::real(ct[0]) : Array(),
                         linear[1] ? lax::imag(-ct[0]) : Array()};
    }},
    .batch = {[](std::span<const Array> x, std::span<const int> dims, const NoParams& p) {
      return batch_pointwise(complex_op, p, x, dims);
    }},
    .samples =
        [] {
          std::vector<Sample> out = samples(kFloat, 2, -2, 2);
          std::erase_if(out, [](const Sample& s) { return itemsize(s.operands[0].dtype) == 2; });
          return out;
        },
});

const OpDef& real_op = define<NoParams>({
    .name = "real",
    .infer = [](std::span<const Type> x,
                const NoParams&) { return infer("real", kComplex, ResultIs::kRealPart, 1, x); },
    .evaluate =
        [](std::span<const Literal> x, const NoParams&) {
          return std::vector{map_literals<kComplex>(
              real_dtype(x[0].dtype()), [](scalar::Complex z) { return z.real(); }, x[0])};
        },
    .factors = factors,
    .lower = Pointwise{emit_op<ScalarOp::kReal, native>},
    .jvp = {[](std::span<const Array> x, std::span<const Array> t, const NoParams&) {
      return linear_jvp(lax::real, x, t);
    }},
    .transpose = {[](std::span<const Array> ct, std::span<const Array>, const std::vector<bool>&,
                     const NoParams&) {
      return std::vector{lax::complex(ct[0], lax::full_like(ct[0], 0))};
    }},
    .batch = {[](std::span<const Array> x, std::span<const int> dims, const NoParams& p) {
      return batch_pointwise(real_op, p, x, dims);
    }},
    .samples = [] { return samples(kComplex, 1, -2, 2); },
});

const OpDef& imag_op = define<NoParams>({
    .name = "imag",
    .infer = [](std::span<const Type> x,
                const NoParams&) { return infer("imag", kComplex, ResultIs::kRealPart, 1, x); },
    .evaluate =
        [](std::span<const Literal> x, const NoParams&) {
          return std::vector{map_literals<kComplex>(
              real_dtype(x[0].dtype()), [](scalar::Complex z) { return z.imag(); }, x[0])};
        },
    .factors = factors,
    .lower = Pointwise{emit_op<ScalarOp::kImag, native>},
    .jvp = {[](std::span<const Array> x, std::span<const Array> t, const NoParams&) {
      return linear_jvp(lax::imag, x, t);
    }},
    // The cotangent is -i ct, as for complex.
    .transpose = {[](std::span<const Array> ct, std::span<const Array>, const std::vector<bool>&,
                     const NoParams&) {
      return std::vector{lax::complex(lax::full_like(ct[0], 0), -ct[0])};
    }},
    .batch = {[](std::span<const Array> x, std::span<const int> dims, const NoParams& p) {
      return batch_pointwise(imag_op, p, x, dims);
    }},
    .samples = [] { return samples(kComplex, 1, -2, 2); },
});

const OpDef& conj_op = define<NoParams>({
    .name = "conj",
    .dialect = "chlo",
    .infer = [](std::span<const Type> x,
                const NoParams&) { return infer("conj", kComplex, ResultIs::kSame, 1, x); },
    .evaluate =
        [](std::span<const Literal> x, const NoParams&) {
          return std::vector{map_literals<kComplex>(
              x[0].dtype(), [](scalar::Complex z) { return std::conj(z); }, x[0])};
        },
    .factors = factors,
    .lower = Pointwise{emit_conj},
    .jvp = {[](std::span<const Array> x, std::span<const Array> t, const NoParams&) {
      return linear_jvp(lax::conj, x, t);
    }},
    .transpose = {[](std::span<const Array> ct, std::span<const Array>, const std::vector<bool>&,
                     const NoParams&) { return std::vector{lax::conj(ct[0])}; }},
    .batch = {[](std::span<const Array> x, std::span<const int> dims, const NoParams& p) {
      return batch_pointwise(conj_op, p, x, dims);
    }},
    .samples = [] { return samples(kComplex, 1, -2, 2); },
});

}  // namespace tessera::ops

namespace tessera::lax {

using namespace ops;

Array complex(const Array& re, const Array& im) {
  return bind_op1(complex_op, NoParams{}, {re, im});
}
Array real(const Array& z) { return bind_op1(real_op, NoParams{}, {z}); }
Array imag(const Array& z) { return bind_op1(imag_op, NoParams{}, {z}); }
Array conj(const Array& z) {
  return bind_op1(conj_op, NoParams{}, {is_complex(z.dtype()) ? z : complex(z, full_like(z, 0))});
}

}  // namespace tessera::lax
