#include "tessera/ops/fourier/fft.h"

#include <algorithm>
#include <cmath>

#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/complex.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/op.h"
#include "tessera/ops/core/source_scope.h"
#include "tessera/ops/fourier/fft_line.h"
#include "tessera/ops/fourier/transform.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/pad.h"
#include "tessera/ops/structural/reshape.h"

namespace tessera::ops {
namespace {

using namespace array_math;
using fourier::TransformSpec;

constexpr std::string_view kFftOp = "fft";

bool is_real(FftType type) { return type == FftType::kRfft || type == FftType::kIrfft; }
bool is_inverse(FftType type) { return type == FftType::kIfft || type == FftType::kIrfft; }

TransformSpec spec_of(const FftParams& p, const Shape& shape) {
  return {p.type, shape.rank() - p.lengths.rank(), p.lengths};
}
TransformSpec spec_of(const FftAlongParams& p, const Shape& shape) {
  return {p.type, p.dimension, {shape[p.dimension]}};
}

// --- Types ---

// Returns the number of points of the half spectrum of n real points.
int64_t half_of(int64_t n) { return n == 0 ? 0 : n / 2 + 1; }

void check_dtype(FftType type, const Type& x) {
  const std::string_view name = enum_names(type)[static_cast<size_t>(type)];
  if (type == FftType::kRfft) {
    if (x.dtype != float32 && x.dtype != float64)
      type_error(kFftOp,
                 "expected float32 or float64 for {} (C3), got {}; convert it with "
                 "convert_element_type, or use FFT for complex numbers",
                 name, describe(x));
  } else if (!is_complex(x.dtype)) {
    type_error(kFftOp,
               "expected complex64 or complex128 for {} (C3), got {}; convert it with "
               "convert_element_type",
               name, describe(x));
  }
}

void check_lengths(const FftParams& p, const Type& x) {
  const int64_t count = p.lengths.rank();
  if (count < 1 || count > 3)
    shape_error(kFftOp,
                "expected one to three lengths (C1), got {}; transform further dimensions by "
                "another fft",
                p.lengths);
  if (x.rank() < count)
    shape_error(kFftOp, "expected an array of rank {} or more for lengths {} (C1), got {}", count,
                p.lengths, describe(x));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t extent = x.shape[x.rank() - count + i], n = p.lengths[i];
    if (n < 0) shape_error(kFftOp, "expected lengths >= 0, got {}", p.lengths);
    if (p.type == FftType::kIrfft && i == count - 1) {
      if (extent != n / 2 + 1 && extent != half_of(n))
        shape_error(kFftOp,
                    "expected {} points in the last dimension for length {} of IRFFT (C5), got {}; "
                    "pad or slice it",
                    n / 2 + 1, n, describe(x));
    } else if (extent != n) {
      shape_error(
          kFftOp,
          "expected the last dimensions to be of lengths {} (C4), got {}; pad or slice them",
          p.lengths, describe(x));
    }
  }
}

std::vector<Type> infer_fft(std::span<const Type> operands, const FftParams& p) {
  expect_operands(kFftOp, operands, 1);
  const Type& x = operands[0];
  check_dtype(p.type, x);
  check_lengths(p, x);
  Type out = x;
  if (p.type == FftType::kRfft) {
    out.dtype = x.dtype == float64 ? complex128 : complex64;
    out.shape.back() = half_of(p.lengths.back());
  } else if (p.type == FftType::kIrfft) {
    out.dtype = real_dtype(x.dtype);
    out.shape.back() = p.lengths.back();
  }
  out.weak = false;
  out.sharding.reset();
  return {out};
}

std::vector<Type> infer_fft_along(std::span<const Type> operands, const FftAlongParams& p) {
  expect_operands("fft_along", operands, 1);
  const Type& x = operands[0];
  if (is_real(p.type)) type_error("fft_along", "expected FFT or IFFT, got a transform of reals");
  check_dtype(p.type, x);
  if (p.dimension < 0 || p.dimension >= x.rank())
    shape_error("fft_along", "expected a dimension in [0, {}), got {} for {}", x.rank(),
                p.dimension, describe(x));
  return {Type{.dtype = x.dtype, .shape = x.shape, .varying = x.varying}};
}

// --- The oracle: sums over all points, in double ---

using Complex = std::complex<double>;

struct ComplexArray {
  Shape shape;
  std::vector<Complex> values;
};

ComplexArray complex_array(const Literal& x) {
  const Literal wide = convert_literal(x, complex128);
  return {x.shape(), {wide.data<Complex>(), wide.data<Complex>() + wide.elements()}};
}

// Returns sums over lines of x: point k of a line of the result is the sum of weight(k, j) times
// point j.
template <class F>
ComplexArray along(const ComplexArray& x, int64_t dimension, int64_t points, F&& weight) {
  ComplexArray out{x.shape, {}};
  out.shape[dimension] = points;
  out.values.resize(static_cast<size_t>(out.shape.elements()));
  const int64_t n = x.shape[dimension], inner = row_major_strides(x.shape)[dimension];
  for (int64_t i = 0; i < out.shape.elements(); ++i) {
    const int64_t column = i % inner, k = i / inner % points, plane = i / inner / points;
    for (int64_t j = 0; j < n; ++j)
      out.values[i] += x.values[(plane * n + j) * inner + column] * weight(k, j);
  }
  return out;
}

// Returns the weight (k, j) -> exp(-2 pi i k j / n); for the inverse its conjugate, divided by n.
auto fourier_weight(int64_t n, bool inverse) {
  return [=](int64_t k, int64_t j) {
    const double turn = 2 * M_PI * static_cast<double>(k * j % n) / static_cast<double>(n);
    return inverse ? std::polar(1.0 / static_cast<double>(n), turn) : std::polar(1.0, -turn);
  };
}

// Returns the whole spectrum of real lines from its half: the missing points are conjugates, and a
// point that is its own conjugate counts as real.
ComplexArray whole_spectrum(const ComplexArray& half, int64_t n) {
  const int64_t points = half.shape.back();
  ComplexArray out{half.shape, {}};
  out.shape.back() = n;
  for (int64_t i = 0; i < out.shape.elements(); ++i) {
    const int64_t k = i % n, mirrored = (n - k) % n;
    const Complex z = half.values[i / n * points + std::min(k, mirrored)];
    out.values.push_back(k == mirrored ? z.real() : k < mirrored ? z : std::conj(z));
  }
  return out;
}

template <class P>
std::vector<Literal> evaluate_fft(std::span<const Literal> operands, const P& p) {
  const Literal& x = operands[0];
  const TransformSpec spec = spec_of(p, x.shape());
  const int64_t last = spec.first + spec.lengths.rank() - 1;
  ComplexArray z = complex_array(x);
  DType dtype = x.dtype();
  for (int64_t i = 0; i < spec.lengths.rank(); ++i) {
    const int64_t n = spec.lengths[i], d = spec.first + i;
    if (spec.type == FftType::kIrfft && d == last) z = whole_spectrum(z, n);
    const int64_t points = spec.type == FftType::kRfft && d == last ? half_of(n) : n;
    z = along(z, d, points, fourier_weight(n, is_inverse(spec.type)));
  }
  if (spec.type == FftType::kRfft) dtype = dtype == float64 ? complex128 : complex64;
  if (spec.type == FftType::kIrfft) dtype = real_dtype(dtype);
  return {convert_literal(Literal::from<Complex>(z.values, z.shape), dtype)};
}

// --- Compiled ---

template <class P>
HostCall fft_call(const OpParams& params, std::span<const Type> operands, std::span<const Type>) {
  const Type& x = operands[0];
  return [transform = fourier::find_transform(spec_of(params.as<P>(), x.shape), real_dtype(x.dtype),
                                              x.shape)](std::span<const void* const> in,
                                                        std::span<void* const> out) {
    transform->run(in[0], out[0]);
  };
}

// --- Rules ---

// Transformed dimensions need replication; all others may be sharded. A half spectrum has the
// factors of its real lines.
template <class P>
Factors fft_factors(std::span<const Type> operands, std::span<const Type> results, const P& p) {
  const TransformSpec spec = spec_of(p, operands[0].shape);
  Factors out;
  TensorFactors dims;
  for (int64_t d = 0; d < operands[0].rank(); ++d) {
    const bool whole = d >= spec.first && d < spec.first + spec.lengths.rank();
    dims.push_back({out.add(std::max(operands[0].shape[d], results[0].shape[d]),
                            whole ? FactorKind::kNeedReplication : FactorKind::kPass)});
  }
  out.operands = {dims};
  out.results = {dims};
  return out;
}

template <class P>
double fft_flops(std::span<const Type> operands, std::span<const Type> results, const P& p) {
  const double elements =
      static_cast<double>(std::max(operands[0].elements(), results[0].elements()));
  double levels = 0;
  for (int64_t n : spec_of(p, operands[0].shape).lengths)
    levels += std::log2(static_cast<double>(std::max<int64_t>(2, n)));
  return (is_real(p.type) ? 2.5 : 5) * elements * levels;
}

// Returns 1 for points of a half spectrum that are their own conjugates, and 2 for points that
// stand for two of the whole spectrum.
Array multiplicities(const Array& half, int64_t n) {
  const int64_t even = n % 2 == 0, points = half.shape().back();
  const DType dtype = half.dtype();
  const Array weights =
      lax::pad(lax::full({points - 1 - even}, 2, dtype), lax::full({}, 1, dtype), {1}, {even}, {0});
  return lax::broadcast_in_dim(weights, half.shape(), {half.ndim() - 1});
}

double points_of(const FftParams& p) {
  double out = 1;
  for (int64_t n : p.lengths) out *= static_cast<double>(n);
  return out;
}

// Complex transforms are symmetric matrices, so they are their own transposes. For real ones, the
// points that the half spectrum leaves out count too.
std::vector<Array> transpose_fft(std::span<const Array> ct, std::span<const Array> x,
                                 const std::vector<bool>&, const FftParams& p) {
  const Array& t = ct[0];
  if (!is_real(p.type)) return {lax::fft(t, p.type, p.lengths)};
  if (points_of(p) == 0 || t.size() == 0) return {lax::zeros_like(x[0].type())};
  if (p.type == FftType::kRfft) {
    const Array halves = lax::conj(t) / multiplicities(t, p.lengths.back());
    return {lax::fft(halves, FftType::kIrfft, p.lengths) * points_of(p)};
  }
  const Array spectrum = lax::fft(t, FftType::kRfft, p.lengths);
  return {lax::conj(spectrum * multiplicities(spectrum, p.lengths.back()) * (1 / points_of(p)))};
}

template <class P>
JvpResult jvp_fft(const OpDef& op, std::span<const Array> x, std::span<const Array> t, const P& p) {
  return {{bind_op1(op, p, {x[0]})}, {t[0].defined() ? bind_op1(op, p, {t[0]}) : Array()}};
}

std::vector<Sample> fft_samples() {
  std::vector<Sample> out;
  auto add = [&](FftType type, DType dtype, Shape shape, Dims lengths) {
    out.push_back({.operands = {{dtype, std::move(shape)}}, .params = FftParams{type, lengths}});
  };
  for (DType dtype : {complex64, complex128})
    for (FftType type : {FftType::kFft, FftType::kIfft}) {
      add(type, dtype, {4, 12}, {12});
      add(type, dtype, {8, 4, 6}, {4, 6});
      add(type, dtype, {2, 3, 4, 5}, {3, 4, 5});
      add(type, dtype, {2, 17}, {17});
      add(type, dtype, {40}, {40});
      add(type, dtype, {24, 16}, {16});
      add(type, dtype, {1}, {1});
      add(type, dtype, {0, 4}, {4});
      add(type, dtype, {3, 0}, {0});
    }
  for (const auto& [real, complex] : {std::pair{float32, complex64}, {float64, complex128}}) {
    add(FftType::kRfft, real, {4, 12}, {12});
    add(FftType::kRfft, real, {4, 7}, {7});
    add(FftType::kRfft, real, {4, 3, 8}, {3, 8});
    add(FftType::kRfft, real, {36, 10}, {10});
    add(FftType::kRfft, real, {2, 74}, {74});
    add(FftType::kRfft, real, {2, 0}, {0});
    add(FftType::kIrfft, complex, {4, 7}, {12});
    add(FftType::kIrfft, complex, {4, 4}, {7});
    add(FftType::kIrfft, complex, {4, 3, 5}, {3, 8});
    add(FftType::kIrfft, complex, {36, 6}, {10});
    add(FftType::kIrfft, complex, {2, 38}, {74});
    add(FftType::kIrfft, complex, {2, 1}, {1});
    add(FftType::kIrfft, complex, {2, 1}, {0});
  }
  return out;
}

std::vector<Sample> fft_along_samples() {
  std::vector<Sample> out;
  for (FftType type : {FftType::kFft, FftType::kIfft}) {
    out.push_back({.operands = {{complex64, {4, 12}}}, .params = FftAlongParams{type, 0}});
    out.push_back({.operands = {{complex128, {2, 5, 24}}}, .params = FftAlongParams{type, 1}});
    out.push_back({.operands = {{complex64, {40, 3}}}, .params = FftAlongParams{type, 0}});
    out.push_back({.operands = {{complex64, {6}}}, .params = FftAlongParams{type, 0}});
    out.push_back({.operands = {{complex64, {0, 6}}}, .params = FftAlongParams{type, 0}});
  }
  return out;
}

}  // namespace

const OpDef& fft_op = define<FftParams>({
    .name = "fft",
    .attributes = {"fft_type", "fft_length"},
    .infer = infer_fft,
    .evaluate = evaluate_fft<FftParams>,
    .factors = fft_factors<FftParams>,
    .lower = Library{LibraryKind::kCall, fft_call<FftParams>},
    .flops = fft_flops<FftParams>,
    .jvp = {[](std::span<const Array> x, std::span<const Array> t, const FftParams& p) {
      return jvp_fft(fft_op, x, t, p);
    }},
    .transpose = {transpose_fft},
    .batch = {[](std::span<const Array> x, std::span<const int> dims,
                 const FftParams& p) -> BatchResult {
      return {{bind_op1(fft_op, p, {lax::move_to_front(x[0], dims[0])})}, {0}};
    }},
    .samples = fft_samples,
});

const OpDef& fft_along_op = define<FftAlongParams>({
    .name = "fft_along",
    .dialect = "tessera",
    .attributes = {"fft_type", "dimension"},
    .infer = infer_fft_along,
    .evaluate = evaluate_fft<FftAlongParams>,
    .factors = fft_factors<FftAlongParams>,
    .lower = Library{LibraryKind::kCall, fft_call<FftAlongParams>},
    .flops = fft_flops<FftAlongParams>,
    .jvp = {[](std::span<const Array> x, std::span<const Array> t, const FftAlongParams& p) {
      return jvp_fft(fft_along_op, x, t, p);
    }},
    .transpose = {[](std::span<const Array> ct, std::span<const Array>, const std::vector<bool>&,
                     const FftAlongParams& p) {
      return std::vector{bind_op1(fft_along_op, p, {ct[0]})};
    }},
    .batch = {[](std::span<const Array> x, std::span<const int> dims,
                 const FftAlongParams& p) -> BatchResult {
      const FftAlongParams q{p.type, p.dimension + 1};
      return {{bind_op1(fft_along_op, q, {lax::move_to_front(x[0], dims[0])})}, {0}};
    }},
    .samples = fft_along_samples,
});

const FftParams* as_fft(const Op& op) {
  return op.def == &fft_op ? &op.params.as<FftParams>() : nullptr;
}

std::optional<FftLine> as_fft_line(const Op& op, const Function& f) {
  if (op.def == &fft_along_op) {
    const auto& p = op.params.as<FftAlongParams>();
    return FftLine{p.type, p.dimension};
  }
  const FftParams* p = as_fft(op);
  if (!p || p->lengths.rank() != 1) return std::nullopt;
  return FftLine{p->type, f.type(op.operands[0]).rank() - 1};
}

}  // namespace tessera::ops

namespace tessera::lax {

using namespace ops;

Array fft(const Array& x, FftType type, const Dims& lengths) {
  SourceScope source("fft");
  DType dtype = x.dtype();
  if (!is_inexact(dtype)) dtype = itemsize(dtype) == 8 ? float64 : float32;
  if (type != FftType::kRfft && !is_complex(dtype))
    dtype = dtype == float64 ? complex128 : complex64;
  const Array operand = convert_element_type(x, dtype);
  return lengths.empty() ? operand : bind_op1(fft_op, FftParams{type, lengths}, {operand});
}

}  // namespace tessera::lax
