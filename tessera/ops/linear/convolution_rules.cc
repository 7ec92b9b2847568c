#include "tessera/ops/linear/convolution_rules.h"

#include <algorithm>

#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/batch_axis.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/indexing/gather.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/pad.h"
#include "tessera/ops/structural/reshape.h"

namespace tessera::ops {
namespace {

// Returns x with dimension `d` as (groups, rest).
Array split_dim(const Array& x, int64_t d, int64_t groups) {
  Shape shape = x.shape();
  shape[d] /= groups;
  shape.insert(shape.begin() + d, groups);
  return lax::reshape(x, shape);
}
// Returns x with dimension `from` merged into dimension `to` (numbered without `from`) as its major
// part.
Array join_dim(const Array& x, int64_t from, int64_t to) {
  const Array moved = lax::move_dim(x, from, to);
  Shape shape = moved.shape();
  shape[to + 1] *= shape[to];
  shape.erase(shape.begin() + to);
  return lax::reshape(moved, shape);
}

Dims swapped(Dims spec) {
  std::swap(spec[0], spec[1]);
  return spec;
}
int64_t dilated(int64_t extent, int64_t by) { return extent == 0 ? 0 : (extent - 1) * by + 1; }

Array by_lhs(const Array& ct, const Array& rhs, const Shape& lhs, const ConvolutionParams& p) {
  ConvolutionParams q = p;
  q.lhs_spec = p.out_spec;
  q.rhs_spec = swapped(p.rhs_spec);
  q.out_spec = p.lhs_spec;
  q.strides = p.lhs_dilation;
  q.lhs_dilation = p.strides;
  q.result = rhs.dtype();
  const int64_t groups = std::max(p.feature_group_count, p.batch_group_count);
  Array kernel = rhs;
  if (groups > 1)
    kernel = join_dim(split_dim(rhs, p.rhs_spec[0], groups), p.rhs_spec[0], p.rhs_spec[1]);
  q.feature_group_count = groups;
  q.batch_group_count = 1;
  Dims reversed;
  for (size_t d = 0; d < p.strides.size(); ++d) {
    const int64_t window = dilated(rhs.shape()[p.rhs_spec[d + 2]], p.rhs_dilation[d]);
    q.low[d] = window - p.low[d] - 1;
    q.high[d] = dilated(lhs[p.lhs_spec[d + 2]], p.lhs_dilation[d]) + window - 1 -
                dilated(ct.shape()[p.out_spec[d + 2]], p.strides[d]) - q.low[d];
    if (!p.reversal[d]) reversed.push_back(p.rhs_spec[d + 2]);
  }
  q.reversal = Dims(p.strides.size(), 0);
  if (!reversed.empty()) kernel = lax::rev(kernel, reversed);
  const Array out = bind_op1(convolution_op, q, {ct, kernel});
  if (p.batch_group_count == 1) return out;
  return join_dim(split_dim(out, p.lhs_spec[1], groups), p.lhs_spec[1], p.lhs_spec[0]);
}

Array by_rhs(const Array& ct, const Array& lhs, const Shape& rhs, const ConvolutionParams& p) {
  ConvolutionParams q = p;
  q.lhs_spec = swapped(p.lhs_spec);
  q.rhs_spec = swapped(p.out_spec);
  q.out_spec = swapped(p.rhs_spec);
  q.strides = p.rhs_dilation;
  q.rhs_dilation = p.strides;
  q.feature_group_count = p.batch_group_count;
  q.batch_group_count = p.feature_group_count;
  q.result = lhs.dtype();
  q.reversal = Dims(p.strides.size(), 0);
  Dims reversed;
  for (size_t d = 0; d < p.strides.size(); ++d) {
    const int64_t window = dilated(rhs[p.rhs_spec[d + 2]], p.rhs_dilation[d]);
    q.high[d] = dilated(ct.shape()[p.out_spec[d + 2]], p.strides[d]) -
                dilated(lhs.shape()[p.lhs_spec[d + 2]], p.lhs_dilation[d]) + window - p.low[d] - 1;
    if (p.reversal[d]) reversed.push_back(p.rhs_spec[d + 2]);
  }
  const Array out = bind_op1(convolution_op, q, {lhs, ct});
  return reversed.empty() ? out : lax::rev(out, reversed);
}

}  // namespace

JvpResult jvp_convolution(std::span<const Array> x, std::span<const Array> t,
                          const ConvolutionParams& p) {
  Array tangent;
  for (int k = 0; k < 2; ++k) {
    if (!t[k].defined()) continue;
    const Array term = k == 0 ? bind_op1(convolution_op, p, {t[0], x[1]})
                              : bind_op1(convolution_op, p, {x[0], t[1]});
    tangent = tangent.defined() ? lax::add(tangent, term) : term;
  }
  return {{bind_op1(convolution_op, p, {x[0], x[1]})}, {tangent}};
}

std::vector<Array> transpose_convolution(std::span<const Array> cts, std::span<const Array> x,
                                         const std::vector<bool>& linear,
                                         const ConvolutionParams& p) {
  TESSERA_CHECK(linear[0] != linear[1], "a product of two linear operands");
  std::vector<Array> out(2);
  if (!cts[0].defined()) return out;
  const int mine = linear[0] ? 0 : 1;
  const Array& other = x[1 - mine];
  const Array ct =
      cts[0].dtype() == other.dtype() ? cts[0] : lax::convert_element_type(cts[0], other.dtype());
  if (ct.size() == 0 || x[mine].size() == 0) {
    out[mine] = lax::full(x[mine].shape(), 0, other.dtype());
  } else {
    out[mine] = mine == 0 ? by_lhs(ct, other, x[0].shape(), p) : by_rhs(ct, other, x[1].shape(), p);
  }
  return out;
}

namespace {

// Returns an int32 array [positions, places]: the index along spatial dimension d (in the dilated
// lhs) that element `place` of the kernel reads at a position of the result.
Array window_indices(const ConvolutionParams& p, size_t d, int64_t positions, int64_t places) {
  using namespace array_math;
  const Shape shape{positions, places};
  const auto times = [&](const Array& x, int64_t n) {
    return lax::mul(x, lax::full_like(x, static_cast<double>(n)));
  };
  const Array at = times(lax::iota(int32, shape, 0), p.strides[d]);
  const int64_t step = p.reversal[d] ? -p.rhs_dilation[d] : p.rhs_dilation[d];
  const int64_t first = (p.reversal[d] ? (places - 1) * p.rhs_dilation[d] : 0) - p.low[d];
  return lax::add(lax::add(at, times(lax::iota(int32, shape, 1), step)),
                  lax::full_like(at, static_cast<double>(first)));
}

// Returns the windows of lhs as the rows of a matrix [batch * positions, kernel elements *
// features]. It is one gather; elements outside of lhs are zeros.
Array window_rows(const Array& lhs, const Shape& rhs, const Shape& out,
                  const ConvolutionParams& p) {
  const auto spatial = static_cast<int64_t>(p.strides.size());
  Dims none(lhs.ndim(), 0), interior(lhs.ndim(), 0);
  Dims order{p.lhs_spec[0]};
  bool dilated = false;
  for (int64_t d = 0; d < spatial; ++d) {
    interior[p.lhs_spec[d + 2]] = p.lhs_dilation[d] - 1;
    dilated = dilated || p.lhs_dilation[d] > 1;
    order.push_back(p.lhs_spec[d + 2]);
  }
  order.push_back(p.lhs_spec[1]);
  const Array spread =
      dilated ? lax::pad(lhs, lax::full({}, 0, lhs.dtype()), none, none, interior) : lhs;
  const Array image = lax::transpose(spread, order);  // [batch, spatial..., features]
  if (spatial == 0) return image;
  Shape grid, window{image.shape()[0]};  // grid: the positions, then the elements of the kernel
  IndexDims dims{.offset_dims = {0}};
  int64_t positions = 1, places = 1;
  for (int64_t d = 0; d < spatial; ++d) grid.push_back(out[p.out_spec[d + 2]]);
  for (int64_t d = 0; d < spatial; ++d) {
    grid.push_back(rhs[p.rhs_spec[d + 2]]);
    positions *= grid[d], places *= grid[spatial + d];
    window.push_back(1);
    dims.collapsed_slice_dims.push_back(d + 1);
    dims.start_index_map.push_back(d + 1);
  }
  const int64_t features = image.shape()[spatial + 1];
  window.push_back(features);
  dims.offset_dims.push_back(2 * spatial + 1);
  std::vector<Array> indices;
  Shape single = grid;
  single.push_back(1);
  for (int64_t d = 0; d < spatial; ++d)
    indices.push_back(
        lax::broadcast_in_dim(window_indices(p, static_cast<size_t>(d), grid[d], grid[spatial + d]),
                              single, {d, spatial + d}));
  const Array rows = lax::gather(image, lax::concatenate(indices, 2 * spatial), dims, window,
                                 IndexMode::kFill, 0.0);
  return lax::reshape(rows, {image.shape()[0] * positions, places * features});
}

}  // namespace

// Returns the kernel's cotangent as the product of the windows of lhs and the cotangent; nullopt if
// lhs is the linear operand or if there are groups.
std::optional<OuterProduct> convolution_outer_product(const Array& ct, std::span<const Array> x,
                                                      const std::vector<bool>& linear,
                                                      const ConvolutionParams& p) {
  if (linear[0] || p.feature_group_count > 1 || p.batch_group_count > 1 || ct.size() == 0 ||
      x[1].size() == 0)
    return std::nullopt;
  const Shape& rhs = x[1].shape();
  OuterProduct out{.rows = {}, .columns = {p.rhs_spec[0]}};
  Dims order{p.out_spec[0]};
  for (size_t d = 0; d < p.strides.size(); ++d) {
    out.rows.push_back(p.rhs_spec[d + 2]);
    order.push_back(p.out_spec[d + 2]);
  }
  out.rows.push_back(p.rhs_spec[1]);
  order.push_back(p.out_spec[1]);
  const Array rows = window_rows(x[0], rhs, ct.shape(), p);
  out.x = lax::reshape(rows, {1, rows.shape()[0], rows.shape()[1]});
  out.y = lax::reshape(lax::transpose(ct, order), {1, rows.shape()[0], rhs[p.rhs_spec[0]]});
  return out;
}

namespace {

// The examples of a mapped lhs are merged into its batch, those of a mapped kernel into its output
// features. If both are mapped, or if groups prevent this, examples become groups.
BatchResult batched(std::span<const Array> x, std::span<const int> dims,
                    const ConvolutionParams& p) {
  const bool grouped = p.feature_group_count > 1 || p.batch_group_count > 1;
  if (dims[1] < 0 && p.batch_group_count == 1) {
    const int64_t size = x[0].shape()[dims[0]];
    const Array lhs = join_dim(x[0], dims[0], p.lhs_spec[0]);
    const Array out = bind_op1(convolution_op, p, {lhs, x[1]});
    return {{split_dim(out, p.out_spec[0], size)}, {static_cast<int>(p.out_spec[0])}};
  }
  if (dims[0] < 0 && !grouped) {
    const int64_t size = x[1].shape()[dims[1]];
    const Array rhs = join_dim(x[1], dims[1], p.rhs_spec[0]);
    const Array out = bind_op1(convolution_op, p, {x[0], rhs});
    return {{split_dim(out, p.out_spec[1], size)}, {static_cast<int>(p.out_spec[1])}};
  }
  const int64_t size = dims[0] >= 0 ? x[0].shape()[dims[0]] : x[1].shape()[dims[1]];
  ConvolutionParams q = p;
  const bool by_batch = p.batch_group_count > 1;
  (by_batch ? q.batch_group_count : q.feature_group_count) *= size;
  const Array lhs =
      join_dim(lax::with_batch_first(x[0], dims[0], size), 0, p.lhs_spec[by_batch ? 0 : 1]);
  const Array rhs = join_dim(lax::with_batch_first(x[1], dims[1], size), 0, p.rhs_spec[0]);
  const Array out = bind_op1(convolution_op, q, {lhs, rhs});
  return {{split_dim(out, p.out_spec[1], size)}, {static_cast<int>(p.out_spec[1])}};
}

}  // namespace

// The library's kernels for float16 and bfloat16 sum in an order that depends on the number of
// examples; those for float32 do not. So under an invariant vmap, 16-bit operands are converted.
BatchResult batch_convolution(std::span<const Array> x, std::span<const int> dims,
                              const ConvolutionParams& p) {
  const BatchAxis* axis = BatchAxis::current_if_any();
  if (!axis || !axis->invariant || !is_half(x[0].dtype())) return batched(x, dims, p);
  ConvolutionParams wide = p;
  wide.result = float32;
  const std::vector<Array> operands{lax::convert_element_type(x[0], float32),
                                    lax::convert_element_type(x[1], float32)};
  BatchResult out = batched(operands, dims, wide);
  out.results[0] = lax::convert_element_type(out.results[0], p.result);
  return out;
}

}  // namespace tessera::ops
