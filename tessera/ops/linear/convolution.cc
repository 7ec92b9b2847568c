#include "tessera/ops/linear/convolution.h"

#include <algorithm>
#include <numeric>

#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/halo_rule.h"
#include "tessera/ops/core/op.h"
#include "tessera/ops/core/scalar_fold.h"
#include "tessera/ops/core/source_scope.h"
#include "tessera/ops/core/unroll_rule.h"
#include "tessera/ops/linear/convolution_rules.h"
#include "tessera/ops/linear/product_convolution.h"
#include "tessera/ops/linear/unroll_convolution.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"

namespace tessera::ops {
namespace {

constexpr std::string_view kConvolutionOp = "convolution";

Dims spatial(const Dims& spec) { return Dims(spec.begin() + 2, spec.end()); }
Shape extents(const Shape& shape, const Dims& dims) {
  Shape out;
  for (int64_t d : dims) out.push_back(shape[d]);
  return out;
}

bool is_permutation(Dims spec, int64_t rank) {
  std::sort(spec.begin(), spec.end());
  return spec == iota_dims(rank);
}

Windows windows_of(const ConvolutionParams& p, const Shape& rhs) {
  return {
      extents(rhs, spatial(p.rhs_spec)), p.strides, p.lhs_dilation, p.rhs_dilation, p.low, p.high};
}

std::vector<Type> infer_convolution(std::span<const Type> operands, const ConvolutionParams& p) {
  expect_operands(kConvolutionOp, operands, 2);
  const Type &lhs = operands[0], &rhs = operands[1];
  if (lhs.dtype != rhs.dtype)
    type_error(kConvolutionOp,
               "expected operands of one dtype (C27), got {} and {}; convert one of them",
               describe(lhs), describe(rhs));
  if (lhs.dtype == bool_)
    type_error(kConvolutionOp, "expected numbers, got {}; convert it first", describe(lhs));
  const bool fits = is_complex(lhs.dtype)    ? is_complex(p.result)
                    : is_floating(lhs.dtype) ? is_floating(p.result)
                                             : is_integer(p.result);
  if (!fits)
    type_error(kConvolutionOp, "expected a result dtype of the kind of {}, got {}", describe(lhs),
               p.result);
  if (lhs.rank() != rhs.rank() || lhs.rank() < 2)
    shape_error(kConvolutionOp, "expected operands of one rank of at least 2 (C1), got {} and {}",
                describe(lhs), describe(rhs));
  const int64_t rank = lhs.rank();
  if (!is_permutation(p.lhs_spec, rank) || !is_permutation(p.rhs_spec, rank) ||
      !is_permutation(p.out_spec, rank))
    shape_error(kConvolutionOp,
                "expected dimension numbers that name {} dimensions each (C13, C18, C20), got "
                "{}, {} and {}",
                rank, p.lhs_spec, p.rhs_spec, p.out_spec);
  if (p.reversal.rank() != rank - 2)
    shape_error(kConvolutionOp, "expected {} flags of reversal (C10), got {}", rank - 2,
                p.reversal);
  const int64_t batch = lhs.shape[p.lhs_spec[0]], features = lhs.shape[p.lhs_spec[1]],
                outputs = rhs.shape[p.rhs_spec[0]], inputs = rhs.shape[p.rhs_spec[1]];
  const int64_t fgc = p.feature_group_count, bgc = p.batch_group_count;
  if (fgc <= 0 || bgc <= 0)
    value_error(kConvolutionOp, "expected group counts > 0 (C21, C22), got {} and {}", fgc, bgc);
  if (fgc != 1 && bgc != 1)
    value_error(kConvolutionOp,
                "expected groups of features or of the batch, not both (C23), got {} and {}", fgc,
                bgc);
  if (batch % bgc != 0 || features % fgc != 0 || outputs % fgc != 0 || outputs % bgc != 0)
    shape_error(kConvolutionOp,
                "expected {} feature and {} batch groups to divide {} and {} (C10..C16)", fgc, bgc,
                describe(lhs), describe(rhs));
  if (inputs * fgc != features)
    shape_error(kConvolutionOp,
                "expected a kernel of {} input features (C14): those of {} in {} groups, got {}",
                features / fgc, describe(lhs), fgc, describe(rhs));
  const Shape spaces = window_shape(kConvolutionOp, extents(lhs.shape, spatial(p.lhs_spec)),
                                    windows_of(p, rhs.shape));
  Shape shape(static_cast<size_t>(rank), 0);
  shape[p.out_spec[0]] = batch / bgc;
  shape[p.out_spec[1]] = outputs;
  for (int64_t d = 0; d < rank - 2; ++d) shape[p.out_spec[d + 2]] = spaces[d];
  return {Type{.dtype = p.result,
               .shape = shape,
               .weak = lhs.weak && rhs.weak,
               .varying = varying_union(operands)}};
}

// Computes the convolution by loops over the elements of the result, of the window and of the input
// features.
void convolve(const ConvolutionParams& p, const Type& lhs, const Type& rhs, const Type& result,
              const void* lhs_data, const void* rhs_data, void* out_data) {
  const Dims ls = row_major_strides(lhs.shape), rs = row_major_strides(rhs.shape),
             os = row_major_strides(result.shape);
  const int64_t inputs = rhs.shape[p.rhs_spec[1]], outputs = rhs.shape[p.rhs_spec[0]],
                batch = result.shape[p.out_spec[0]];
  const Shape window = extents(rhs.shape, spatial(p.rhs_spec));
  const Dims window_strides = row_major_strides(window), result_strides = os;
  const int64_t places = window.elements();
  visit_dtype(lhs.dtype, [&]<class T>(TypeTag<T>) {
    using W = NaiveSum<T>;
    const T *x = static_cast<const T*>(lhs_data), *w = static_cast<const T*>(rhs_data);
    visit_dtype(p.result, [&]<class R>(TypeTag<R>) {
      if constexpr (is_complex_type<T> == is_complex_type<R> &&
                    std::is_integral_v<T> == std::is_integral_v<R>) {
        R* out = static_cast<R*>(out_data);
        for (int64_t e = 0; e < result.shape.elements(); ++e) {
          auto index = [&](int64_t d) {
            return e / result_strides[p.out_spec[d]] % result.shape[p.out_spec[d]];
          };
          const int64_t o = index(1);
          const int64_t from_batch = index(0) + o / (outputs / p.batch_group_count) * batch;
          const int64_t first_input = o / (outputs / p.feature_group_count) * inputs;
          W sum{};
          for (int64_t k = 0; k < places; ++k) {
            int64_t at = from_batch * ls[p.lhs_spec[0]], weight = o * rs[p.rhs_spec[0]];
            bool inside = true;
            for (int64_t d = 0; d < window.rank() && inside; ++d) {
              const int64_t place = k / window_strides[d] % window[d];
              const int64_t position =
                  index(d + 2) * p.strides[d] + place * p.rhs_dilation[d] - p.low[d];
              const int64_t i = position / p.lhs_dilation[d];
              inside = position >= 0 && position % p.lhs_dilation[d] == 0 &&
                       i < lhs.shape[p.lhs_spec[d + 2]];
              at += i * ls[p.lhs_spec[d + 2]];
              weight += (p.reversal[d] ? window[d] - 1 - place : place) * rs[p.rhs_spec[d + 2]];
            }
            if (!inside) continue;
            for (int64_t i = 0; i < inputs; ++i)
              sum += element_cast<W>(x[at + (first_input + i) * ls[p.lhs_spec[1]]]) *
                     element_cast<W>(w[weight + i * rs[p.rhs_spec[1]]]);
          }
          out[e] = element_cast<R>(sum);
        }
      }
    });
  });
}

Type type_of(const Literal& x) { return {x.dtype(), x.shape()}; }

std::vector<Literal> evaluate_convolution(std::span<const Literal> x, const ConvolutionParams& p) {
  const std::vector<Type> types{type_of(x[0]), type_of(x[1])};
  const Type result = infer_convolution(types, p)[0];
  Literal out(result.dtype, result.shape);
  convolve(p, types[0], types[1], result, x[0].raw(), x[1].raw(), out.mutable_raw());
  return {out};
}

// Returns the number of rows from the first to the last that a window reads.
int64_t window_rows(const ConvolutionParams& p, const Type& rhs, size_t spatial) {
  const int64_t taps = rhs.shape[p.rhs_spec[spatial + 2]];
  return taps == 0 ? 0 : (taps - 1) * p.rhs_dilation[spatial] + 1;
}

// The batch and the output features pass through, and the input features are summed over. A feature
// dimension in groups has the factors (group, feature of the group).
Factors convolution_factors(std::span<const Type> operands, std::span<const Type> results,
                            const ConvolutionParams& p) {
  const Type &lhs = operands[0], &rhs = operands[1], &result = results[0];
  Factors out;
  TensorFactors x(lhs.shape.size()), w(lhs.shape.size()), y(lhs.shape.size());
  const int64_t groups = p.feature_group_count;
  if (p.batch_group_count == 1) {
    x[p.lhs_spec[0]] = y[p.out_spec[0]] = {out.add(lhs.shape[p.lhs_spec[0]])};
  } else {
    x[p.lhs_spec[0]] = {out.add(lhs.shape[p.lhs_spec[0]], FactorKind::kNeedReplication)};
    y[p.out_spec[0]] = {out.add(result.shape[p.out_spec[0]], FactorKind::kNeedReplication)};
  }
  const int inputs = out.add(rhs.shape[p.rhs_spec[1]], FactorKind::kReduction);
  w[p.rhs_spec[1]] = {inputs};
  if (groups > 1) {
    const int group = out.add(groups), o = out.add(rhs.shape[p.rhs_spec[0]] / groups);
    x[p.lhs_spec[1]] = {group, inputs};
    w[p.rhs_spec[0]] = y[p.out_spec[1]] = {group, o};
  } else {
    x[p.lhs_spec[1]] = {inputs};
    w[p.rhs_spec[0]] = y[p.out_spec[1]] = {
        out.add(rhs.shape[p.rhs_spec[0]],
                p.batch_group_count == 1 ? FactorKind::kPass : FactorKind::kNeedReplication)};
  }
  for (size_t d = 2; d < p.lhs_spec.size(); ++d) {
    const int64_t from = lhs.shape[p.lhs_spec[d]], to = result.shape[p.out_spec[d]];
    const int64_t taps = rhs.shape[p.rhs_spec[d]];
    if (windows_are_local(window_rows(p, rhs, d - 2), to)) {
      x[p.lhs_spec[d]] = y[p.out_spec[d]] = {out.add(std::max(from, to), FactorKind::kPermutation)};
      w[p.rhs_spec[d]] = {out.add(taps, FactorKind::kNeedReplication)};
    } else {
      x[p.lhs_spec[d]] =
          w[p.rhs_spec[d]] = {out.add(std::max(from, taps), FactorKind::kPermutation)};
      y[p.out_spec[d]] = {out.add(to, FactorKind::kNeedReplication)};
    }
  }
  out.operands = {x, w};
  out.results = {y};
  return out;
}

std::vector<Array> localize_convolution(std::span<const Array> x, const ConvolutionParams& p,
                                        const LocalContext&) {
  ConvolutionParams q = p;
  const int64_t inputs = x[1].shape()[p.rhs_spec[1]];
  if (p.feature_group_count > 1 && inputs > 0)
    q.feature_group_count = x[0].shape()[p.lhs_spec[1]] / inputs;
  return {bind_op1(convolution_op, q, {x[0], x[1]})};
}

double convolution_flops(std::span<const Type> operands, std::span<const Type> results,
                         const ConvolutionParams& p) {
  double flops = 2.0 * static_cast<double>(results[0].elements()) *
                 static_cast<double>(operands[1].elements());
  const auto outputs = static_cast<double>(std::max<int64_t>(1, operands[1].shape[p.rhs_spec[0]]));
  return flops / outputs * (is_complex(operands[0].dtype) ? 4 : 1);
}

std::vector<Sample> convolution_samples() {
  std::vector<Sample> out;
  auto add = [&](DType dtype, const Shape& lhs, const Shape& rhs, ConvolutionParams p) {
    p.result = dtype;
    if (p.reversal.empty()) p.reversal = Dims(p.strides.size(), 0);
    out.push_back({.operands = {{dtype, lhs}, {dtype, rhs}}, .params = std::move(p)});
  };
  const Dims nchw{0, 1, 2, 3}, nhwc{0, 3, 1, 2}, hwio{3, 2, 0, 1};
  add(float32, {2, 4, 6, 5}, {4, 4, 3, 2},
      {{1, 1}, {1, 0}, {1, 1}, {1, 1}, {1, 1}, {}, nchw, nchw, nchw});
  add(float32, {2, 8, 8, 4}, {3, 3, 4, 6},
      {{2, 1}, {0, 1}, {1, 1}, {1, 1}, {1, 1}, {}, nhwc, hwio, nhwc});
  add(float32, {2, 7, 6, 2}, {3, 2, 2, 4},
      {{1, 2}, {2, 0}, {-1, 1}, {2, 1}, {1, 2}, {}, nhwc, hwio, nhwc});
  add(float32, {2, 7, 6, 2}, {3, 2, 2, 4},
      {{1, 1}, {0, 0}, {0, 0}, {1, 1}, {1, 1}, {1, 0}, nhwc, hwio, nhwc});
  // Two groups of features, groups of one feature each, and two groups of the batch.
  add(float32, {2, 6, 6, 4}, {3, 3, 2, 8},
      {{1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {}, nhwc, hwio, nhwc, 2});
  add(float32, {2, 6, 6, 4}, {3, 3, 1, 4},
      {{1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {}, nhwc, hwio, nhwc, 4});
  add(float32, {4, 6, 6, 2}, {3, 3, 2, 4},
      {{1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {}, nhwc, hwio, nhwc, 1, 2});
  // One, three and no spatial dimensions, and other dtypes.
  add(float32, {2, 9, 2}, {3, 2, 4},
      {{1}, {1}, {1}, {1}, {1}, {}, {0, 2, 1}, {2, 1, 0}, {0, 2, 1}});
  add(float32, {1, 2, 4, 3, 3}, {2, 2, 2, 2, 2},
      {{1, 1, 1},
       {0, 0, 0},
       {0, 0, 0},
       {1, 1, 1},
       {1, 1, 1},
       {},
       {0, 1, 2, 3, 4},
       {0, 1, 2, 3, 4},
       {0, 1, 2, 3, 4}});
  add(float32, {4, 6}, {8, 6}, {{}, {}, {}, {}, {}, {}, {0, 1}, {0, 1}, {0, 1}});
  for (DType dtype : {float64, bfloat16, float16, int32, complex64})
    add(dtype, {2, 6, 4}, {3, 4, 2},
        {{1}, {1}, {1}, {1}, {1}, {}, {0, 2, 1}, {2, 1, 0}, {0, 2, 1}});
  add(float32, {0, 2, 6}, {4, 2, 3},
      {{1}, {0}, {0}, {1}, {1}, {}, {0, 1, 2}, {0, 1, 2}, {0, 1, 2}});
  return out;
}

}  // namespace

const OpDef& convolution_op = define<ConvolutionParams>({
    .name = "convolution",
    .attributes = {"window_strides", "low", "high", "lhs_dilation", "rhs_dilation",
                   "window_reversal", "lhs_spec", "rhs_spec", "out_spec", "feature_group_count",
                   "batch_group_count", "result_dtype"},
    .infer = infer_convolution,
    .evaluate = evaluate_convolution,
    .factors = convolution_factors,
    .localize = localize_convolution,
    .lower = Library{LibraryKind::kConvolution},
    .flops = convolution_flops,
    .jvp = {jvp_convolution},
    .transpose = {transpose_convolution},
    .batch = {batch_convolution},
    .samples = convolution_samples,
});

namespace {
[[maybe_unused]] const bool kConvolutionProduct =
    register_outer_product(convolution_op, convolution_outer_product);
}  // namespace

namespace {

std::vector<HaloDim> convolution_halos(const OpParams& params, std::span<const Type> operands,
                                       std::span<const Type> results) {
  const auto& p = params.as<ConvolutionParams>();
  std::vector<HaloDim> out;
  for (size_t d = 2; d < p.lhs_spec.size(); ++d) {
    const size_t s = d - 2;
    const int64_t size = window_rows(p, operands[1], s);
    const bool local = windows_are_local(size, results[0].shape[p.out_spec[d]]);
    if (size > 0 && (local || !p.reversal[s]))
      out.push_back({.dim = static_cast<int>(p.lhs_spec[d]),
                     .result_dim = static_cast<int>(p.out_spec[d]),
                     .size = size,
                     .stride = p.strides[s],
                     .low = p.low[s],
                     .base_dilation = p.lhs_dilation[s],
                     .tap_dim = local ? -1 : static_cast<int>(p.rhs_spec[d]),
                     .tap_dilation = p.rhs_dilation[s]});
  }
  return out;
}

OpParams convolution_padded(const OpParams& params, const HaloDim& halo, int64_t low,
                            int64_t high) {
  ConvolutionParams p = params.as<ConvolutionParams>();
  const auto s = static_cast<size_t>(std::find(p.lhs_spec.begin() + 2, p.lhs_spec.end(), halo.dim) -
                                     p.lhs_spec.begin() - 2);
  p.low[s] = low;
  p.high[s] = high;
  return p;
}

FlatFn rewritten_convolution(const OpParams& params, std::span<const Type> operands,
                             const Type& result) {
  FlatFn slices = unrolled_convolution(params, operands, result);
  return slices ? slices : product_convolution(params, operands, result);
}

[[maybe_unused]] const bool kUnrolls = register_unroll_rule(convolution_op, rewritten_convolution);

[[maybe_unused]] const bool kHalos = register_halo_rule(
    convolution_op,
    {.windowed = [](size_t) { return size_t{1}; },
     .dims = convolution_halos,
     .neutral_operand = [](const OpParams&, DType dtype) { return Array(Literal(dtype, Shape{})); },
     .padded = convolution_padded});

}  // namespace

}  // namespace tessera::ops

namespace tessera::lax {

using namespace ops;

namespace {

// Returns the positions in `layout` of the letters `first`, `second` and those of `order`. Example:
// "NHWC" with 'N', 'C' and "HW" gives {0, 3, 1, 2}.
Dims spec_of(std::string_view layout, char first, char second, std::string_view order) {
  Dims out;
  for (char c : {first, second}) {
    const size_t at = layout.find(c);
    if (at == std::string_view::npos)
      value_error("conv_general_dilated", "expected a layout with '{}', got \"{}\"", c, layout);
    out.push_back(static_cast<int64_t>(at));
  }
  for (char c : order) {
    const size_t at = layout.find(c);
    if (at == std::string_view::npos)
      value_error("conv_general_dilated",
                  "expected layouts of the same spatial dimensions, got no "
                  "'{}' in \"{}\"",
                  c, layout);
    out.push_back(static_cast<int64_t>(at));
  }
  return out;
}

ConvDimensionNumbers numbers_of(int64_t rank, const ConvOptions& options) {
  const Dims plain = iota_dims(rank);
  std::string order;
  for (char c : options.rhs_layout)
    if (c != 'O' && c != 'I') order.push_back(c);
  auto spec = [&](std::string_view layout, char first, char second) {
    if (layout.empty()) return plain;
    if (static_cast<int64_t>(layout.size()) != rank)
      value_error("conv_general_dilated", "expected a layout of {} dimensions, got \"{}\"", rank,
                  layout);
    std::string own = order;
    if (own.empty())
      for (char c : layout)
        if (c != first && c != second) own.push_back(c);
    return spec_of(layout, first, second, own);
  };
  return {spec(options.lhs_layout, 'N', 'C'), spec(options.rhs_layout, 'O', 'I'),
          spec(options.out_layout, 'N', 'C')};
}

Dims or_ones(const Dims& dims, size_t count) { return dims.empty() ? Dims(count, 1) : dims; }

}  // namespace

Array conv_general_dilated(const Array& lhs, const Array& rhs, const Dims& strides,
                           const Padding& padding, const ConvOptions& options) {
  SourceScope source("conv_general_dilated");
  if (lhs.dtype() == bool_ && rhs.dtype() == bool_) {
    // The result is whether any pair is true: whether their number, in int32, is not 0.
    const DType wanted = options.preferred.value_or(bool_);
    ConvOptions counting = options;
    counting.preferred = wanted == bool_ ? int32 : wanted;
    const Array pairs = conv_general_dilated(convert_element_type(lhs, *counting.preferred),
                                             convert_element_type(rhs, *counting.preferred),
                                             strides, padding, counting);
    return wanted == bool_ ? ne(pairs, full_like(pairs, 0)) : pairs;
  }
  const ConvDimensionNumbers numbers = numbers_of(lhs.ndim(), options);
  ConvolutionParams p{.strides = strides,
                      .lhs_dilation = or_ones(options.lhs_dilation, strides.size()),
                      .rhs_dilation = or_ones(options.rhs_dilation, strides.size()),
                      .reversal = Dims(strides.size(), 0),
                      .lhs_spec = numbers.lhs_spec,
                      .rhs_spec = numbers.rhs_spec,
                      .out_spec = numbers.out_spec,
                      .feature_group_count = options.feature_group_count,
                      .batch_group_count = options.batch_group_count,
                      .result = options.preferred.value_or(lhs.dtype())};
  for (const auto& [low, high] : padding) {
    p.low.push_back(low);
    p.high.push_back(high);
  }
  return bind_op1(convolution_op, p, {lhs, rhs});
}

Array conv_general_dilated(const Array& lhs, const Array& rhs, const Dims& strides,
                           std::string_view padding, const ConvOptions& options) {
  if (lhs.ndim() != rhs.ndim() || lhs.ndim() != strides.rank() + 2)
    shape_error("conv_general_dilated",
                "expected operands of rank {} for strides {}, got {} and {}", strides.rank() + 2,
                strides, describe(lhs.type()), describe(rhs.type()));
  const ConvDimensionNumbers numbers = numbers_of(lhs.ndim(), options);
  Padding pads(strides.size());
  if (padding == "SAME" || padding == "SAME_LOWER") {
    const Dims zeros(strides.size(), 0);
    const auto [low, high] = same_padding(
        extents(lhs.shape(), spatial(numbers.lhs_spec)),
        {extents(rhs.shape(), spatial(numbers.rhs_spec)), strides, Dims(strides.size(), 1),
         or_ones(options.rhs_dilation, strides.size()), zeros, zeros});
    for (size_t d = 0; d < pads.size(); ++d)
      pads[d] = padding == "SAME" ? std::pair{low[d], high[d]} : std::pair{high[d], low[d]};
  } else if (padding != "VALID") {
    value_error("conv_general_dilated", "expected padding SAME, SAME_LOWER or VALID, got \"{}\"",
                padding);
  }
  return conv_general_dilated(lhs, rhs, strides, pads, options);
}

Array conv(const Array& lhs, const Array& rhs, const Dims& strides, std::string_view padding) {
  return conv_general_dilated(lhs, rhs, strides, padding);
}

Array conv_with_general_padding(const Array& lhs, const Array& rhs, const Dims& strides,
                                const Padding& padding, const Dims& lhs_dilation,
                                const Dims& rhs_dilation) {
  return conv_general_dilated(lhs, rhs, strides, padding,
                              {.lhs_dilation = lhs_dilation, .rhs_dilation = rhs_dilation});
}

Array conv_transpose(const Array& lhs, const Array& rhs, const Dims& strides,
                     std::string_view padding, const ConvOptions& options, bool transpose_kernel) {
  if (padding != "SAME" && padding != "VALID")
    value_error("conv_transpose", "expected padding SAME or VALID, got \"{}\"", padding);
  ConvOptions o = options;
  const std::string_view by_rank[] = {"NC", "NHC", "NHWC", "NHWDC"},
                         kernels[] = {"IO", "HIO", "HWIO", "HWDIO"};
  const auto n = static_cast<size_t>(lhs.ndim() - 2);
  if (lhs.ndim() < 2 || n > 3)
    shape_error("conv_transpose", "expected 0 to 3 spatial dimensions, got {}",
                describe(lhs.type()));
  if (o.lhs_layout.empty()) o.lhs_layout = by_rank[n];
  if (o.out_layout.empty()) o.out_layout = o.lhs_layout;
  if (o.rhs_layout.empty()) o.rhs_layout = kernels[n];
  ConvDimensionNumbers numbers = numbers_of(lhs.ndim(), o);
  Array kernel = rhs;
  const Dims window = extents(rhs.shape(), spatial(numbers.rhs_spec)),
             dilation = or_ones(o.rhs_dilation, n);
  Padding pads;
  for (size_t d = 0; d < n; ++d) {
    const int64_t k = (window[d] - 1) * dilation[d] + 1, s = strides[d];
    const int64_t total = padding == "SAME" ? k + s - 2 : k + s - 2 + std::max<int64_t>(k - s, 0);
    const int64_t low = padding == "SAME" ? (s > k - 1 ? k - 1 : ceil_div(total, 2)) : k - 1;
    pads.emplace_back(low, total - low);
  }
  std::string layout(o.rhs_layout);
  if (transpose_kernel) {
    // rhs is the kernel of a forward convolution. Its window is reversed, and its input and output
    // features are exchanged.
    kernel = rev(rhs, spatial(numbers.rhs_spec));
    for (char& c : layout) c = c == 'I' ? 'O' : c == 'O' ? 'I' : c;
    o.rhs_layout = layout;
  }
  o.lhs_dilation = strides;
  o.rhs_dilation = dilation;
  return conv_general_dilated(lhs, kernel, Dims(n, 1), pads, o);
}

}  // namespace tessera::lax
