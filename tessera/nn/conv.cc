#include "tessera/nn/conv.h"

#include "tessera/compile/composite.h"
#include "tessera/nn/layer_math.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/pad.h"
#include "tessera/ops/linear/convolution.h"
#include "tessera/ops/structural/reshape.h"

namespace tessera::nn {

using namespace ir;

namespace {

// The static params of a convolution, with one entry for each spatial dimension. `before` and
// `after` are widths of zeros; `repeated` has the widths of modes that repeat the input.
struct Geometry {
  Dims kernel, strides, input_dilation, kernel_dilation, before, after, repeated, out;
  int64_t groups;
  bool reflect, has_bias;
  DType dtype;
};

Dims one_each(const char* op, const char* what, const Dims& given, int64_t rank) {
  Dims out = given;
  if (given.size() <= 1) out = Dims(static_cast<size_t>(rank), given.empty() ? 1 : given[0]);
  if (out.rank() != rank)
    value_error(op, "expected {} of one extent or {}, one a dimension of the kernel, got {}", what,
                rank, given);
  for (int64_t d : out)
    if (d < 1) value_error(op, "expected positive {}, got {}", what, given);
  return out;
}

void set_widths(const char* op, const Padding& padding, const Shape& x, Geometry& g) {
  const int64_t rank = g.kernel.rank();
  const auto extent = [&](int64_t d) { return (g.kernel[d] - 1) * g.kernel_dilation[d] + 1; };
  g.before = g.after = g.repeated = Dims(static_cast<size_t>(rank), 0);
  g.reflect = padding.mode() == Padding::kReflect;
  if (padding.mode() == Padding::kCausal && rank != 1)
    value_error(op, "expected one spatial dimension with causal padding, got {}", rank);
  if (padding.mode() == Padding::kExplicit && static_cast<int64_t>(padding.widths().size()) != rank)
    value_error(op, "expected padding of {} dimensions, got {}", rank, padding.widths().size());
  for (int64_t d = 0; d < rank; ++d) {
    switch (padding.mode()) {
      case Padding::kValid:
        break;
      case Padding::kExplicit:
        std::tie(g.before[d], g.after[d]) = padding.widths()[static_cast<size_t>(d)];
        break;
      case Padding::kCausal:
        g.before[d] = extent(d) - 1;
        break;
      case Padding::kCircular:
      case Padding::kReflect:
        g.repeated[d] = extent(d);
        break;
      case Padding::kSame: {
        if (g.input_dilation[d] != 1)
          value_error(op,
                      "expected explicit padding with a dilated input, got kSame; name the "
                      "widths");
        const int64_t out = (x[d] + g.strides[d] - 1) / g.strides[d];
        const int64_t all = std::max<int64_t>((out - 1) * g.strides[d] + extent(d) - x[d], 0);
        g.before[d] = all / 2;
        g.after[d] = all - all / 2;
        break;
      }
    }
  }
}

// Returns x, which has one batch dimension, extended by its own elements if a mode repeats them.
Array surrounded(const Array& x, const Geometry& g) {
  std::vector<std::pair<int64_t, int64_t>> repeated(1, {0, 0});
  bool repeats = false;
  for (int64_t extent : g.repeated) {
    repeated.push_back(extent > 0 ? std::pair((extent - 1) / 2, extent / 2)
                                  : std::pair<int64_t, int64_t>(0, 0));
    repeats |= extent > 1;
  }
  repeated.push_back({0, 0});
  if (!repeats) return x;
  return tessera::pad(x, repeated, {.mode = g.reflect ? PadMode::kReflect : PadMode::kWrap});
}

// The layouts (batch, spatial..., features) and (spatial..., features, out features).
struct Layouts {
  std::string inputs, kernels;
  explicit Layouts(int64_t rank) {
    static constexpr std::string_view kSpatial = "0123456789abcdefghijklmnopqrstuvwxyz";
    const std::string spatial(kSpatial.substr(0, static_cast<size_t>(rank)));
    inputs = "N" + spatial + "C";
    kernels = spatial + "IO";
  }
};

// Convolves x (batch, spatial..., features) with a kernel (spatial..., features / groups,
// features).
Array convolved(const Array& x, const Array& kernel, const Geometry& g) {
  const Layouts layouts(g.kernel.rank());
  lax::Padding padding;
  for (size_t d = 0; d < g.kernel.size(); ++d) padding.emplace_back(g.before[d], g.after[d]);
  return lax::conv_general_dilated(surrounded(x, g), kernel, g.strides, padding,
                                   {.lhs_dilation = g.input_dilation,
                                    .rhs_dilation = g.kernel_dilation,
                                    .lhs_layout = layouts.inputs,
                                    .rhs_layout = layouts.kernels,
                                    .out_layout = layouts.inputs,
                                    .feature_group_count = g.groups});
}

}  // namespace

std::string Padding::tree_static_key() const {
  std::string out = std::to_string(mode_);
  for (const auto& [before, after] : widths_) out += fmt::format(",{}:{}", before, after);
  return out;
}

Shape conv_kernel_shape(const char* op, const Dims& kernel_size, int64_t in_features,
                        int64_t out_features, const ConvOptions& o) {
  const int64_t groups = o.feature_group_count;
  if (groups < 1 || in_features % groups != 0 || out_features % groups != 0)
    value_error(op, "expected features that {} groups divide, got {} in and {} out", groups,
                in_features, out_features);
  if (kernel_size.empty()) value_error(op, "expected a kernel of at least 1 dimension, got none");
  Shape out(kernel_size.begin(), kernel_size.end());
  out.push_back(in_features / groups);
  out.push_back(out_features);
  return out;
}

Array conv(const char* op, const Array& x, const Array& kernel, const Array& bias,
           const ConvOptions& o, OptionalDType dtype) {
  const int64_t rank = kernel.ndim() - 2;
  if (x.ndim() < rank + 1 || x.shape(-1) != kernel.shape(-2) * o.feature_group_count)
    shape_error(op,
                "expected inputs of {} spatial dimensions and {} features, for a kernel {}, got {}",
                rank, kernel.shape(-2) * o.feature_group_count, describe(kernel.type()),
                describe(x.type()));
  const Shape spatial(x.shape().end() - rank - 1, x.shape().end() - 1);
  Geometry g;
  g.kernel = Dims(kernel.shape().begin(), kernel.shape().begin() + rank);
  g.strides = one_each(op, "strides", o.strides, rank);
  g.input_dilation = one_each(op, "input_dilation", o.input_dilation, rank);
  g.kernel_dilation = one_each(op, "kernel_dilation", o.kernel_dilation, rank);
  g.groups = o.feature_group_count;
  g.has_bias = bias.defined();
  g.dtype = common_dtype({x, kernel, bias}, dtype);
  set_widths(op, o.padding, spatial, g);
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t repeated = std::max<int64_t>(g.repeated[d] - 1, 0);
    const int64_t there =
        (spatial[d] + repeated - 1) * g.input_dilation[d] + 1 + g.before[d] + g.after[d];
    const int64_t room = there - ((g.kernel[d] - 1) * g.kernel_dilation[d] + 1);
    if (room < 0)
      shape_error(op,
                  "expected inputs no smaller than the kernel, got {} for a kernel {}; pad them",
                  describe(x.type()), describe(kernel.type()));
    g.out.push_back(room / g.strides[d] + 1);
  }

  std::vector<Array> args{x, kernel};
  if (bias.defined()) args.push_back(bias);
  return composite(
      "nn_conv", g, std::span<const Array>(args), [](const Geometry& p, std::span<const Array> a) {
        const int64_t rank = p.kernel.rank();
        Shape one_batch(a[0].shape().end() - rank - 1, a[0].shape().end() - 1),
            result(a[0].shape().begin(), a[0].shape().end() - rank - 1);
        one_batch.insert(one_batch.begin(), result.elements());
        one_batch.push_back(a[0].shape(-1));
        Array y =
            convolved(reshape(as_dtype(a[0], p.dtype), one_batch), as_dtype(a[1], p.dtype), p);
        if (p.has_bias) y = y + as_dtype(a[2], p.dtype);
        result.insert(result.end(), p.out.begin(), p.out.end());
        result.push_back(y.shape(-1));
        return reshape(y, result);
      });
}

namespace {

// The static parameters of a transposed convolution.
struct TransposedGeometry {
  Dims strides, kernel_dilation, before, after;
  bool same, widths, transpose_kernel, has_bias;  // if neither same nor widths: valid
  DType dtype;
};

Array transposed(const Array& x, const Array& kernel, const TransposedGeometry& g) {
  const Layouts layouts(g.strides.rank());
  lax::ConvOptions options{.rhs_dilation = g.kernel_dilation,
                           .lhs_layout = layouts.inputs,
                           .rhs_layout = layouts.kernels,
                           .out_layout = layouts.inputs};
  if (!g.widths)
    return lax::conv_transpose(x, kernel, g.strides, g.same ? "SAME" : "VALID", options,
                               g.transpose_kernel);
  lax::Padding padding;
  for (size_t d = 0; d < g.strides.size(); ++d) padding.emplace_back(g.before[d], g.after[d]);
  options.lhs_dilation = g.strides;
  const int64_t rank = g.strides.rank();
  Array window = kernel;
  if (g.transpose_kernel) window = swapaxes(lax::rev(kernel, iota_dims(rank)), rank, rank + 1);
  return lax::conv_general_dilated(x, window, Dims(g.strides.size(), 1), padding, options);
}

}  // namespace

Array conv_transpose(const char* op, const Array& x, const Array& kernel, const Array& bias,
                     const ConvTransposeOptions& o, OptionalDType dtype) {
  const int64_t rank = kernel.ndim() - 2, features = kernel.shape(o.transpose_kernel ? -1 : -2);
  if (rank > 3) value_error(op, "expected a kernel of 1 to 3 dimensions, got {}", rank);
  if (x.ndim() < rank + 1 || x.shape(-1) != features)
    shape_error(op,
                "expected inputs of {} spatial dimensions and {} features, for a kernel {}, got {}",
                rank, features, describe(kernel.type()), describe(x.type()));
  TransposedGeometry g{.strides = one_each(op, "strides", o.strides, rank),
                       .kernel_dilation = one_each(op, "kernel_dilation", o.kernel_dilation, rank),
                       .same = o.padding.mode() == Padding::kSame,
                       .widths = o.padding.mode() == Padding::kExplicit,
                       .transpose_kernel = o.transpose_kernel,
                       .has_bias = bias.defined(),
                       .dtype = common_dtype({x, kernel, bias}, dtype)};
  if (!g.same && !g.widths && o.padding.mode() != Padding::kValid)
    value_error(op,
                "expected padding kSame, kValid or widths, got one that repeats the input or is "
                "causal; pad the input");
  if (g.widths && static_cast<int64_t>(o.padding.widths().size()) != rank)
    value_error(op, "expected padding of {} dimensions, got {}", rank, o.padding.widths().size());
  for (const auto& [before, after] : o.padding.widths()) {
    g.before.push_back(before);
    g.after.push_back(after);
  }
  std::vector<Array> args{x, kernel};
  if (bias.defined()) args.push_back(bias);
  return composite("nn_conv_transpose", g, std::span<const Array>(args),
                   [](const TransposedGeometry& p, std::span<const Array> a) {
                     const int64_t rank = p.strides.rank();
                     Shape one_batch(a[0].shape().end() - rank - 1, a[0].shape().end()),
                         result(a[0].shape().begin(), a[0].shape().end() - rank - 1);
                     one_batch.insert(one_batch.begin(), result.elements());
                     Array y = transposed(reshape(as_dtype(a[0], p.dtype), one_batch),
                                          as_dtype(a[1], p.dtype), p);
                     if (p.has_bias) y = y + as_dtype(a[2], p.dtype);
                     result.insert(result.end(), y.shape().begin() + 1, y.shape().end());
                     return reshape(y, result);
                   });
}

}  // namespace tessera::nn
