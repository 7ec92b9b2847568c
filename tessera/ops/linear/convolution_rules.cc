#include "tessera/ops/linear/convolution_rules.h"

#include <algorithm>

#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/pad.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::ops {
namespace {

// Dimension `d` as (groups, rest).
Array split_dim(const Array& x, int64_t d, int64_t groups) {
  Shape shape = x.shape();
  shape[d] /= groups;
  shape.insert(shape.begin() + d, groups);
  return lax::reshape(x, shape);
}
// Dimension `from` joins dimension `to` (as numbered without `from`), major.
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

// The windows of lhs as rows: (batch and positions, kernel places and features), the places in the
// kernel's order.
Array window_rows(const Array& lhs, const Shape& rhs, const Shape& out,
                  const ConvolutionParams& p) {
  Dims low(lhs.ndim(), 0), high(lhs.ndim(), 0), interior(lhs.ndim(), 0);
  const size_t spatial = p.strides.size();
  for (size_t d = 0; d < spatial; ++d) {
    const int64_t at = p.lhs_spec[d + 2];
    low[at] = p.low[d], high[at] = p.high[d], interior[at] = p.lhs_dilation[d] - 1;
  }
  const Array padded = lax::pad(lhs, lax::full({}, 0, lhs.dtype()), low, high, interior);
  Dims order{p.lhs_spec[0]};
  for (size_t d = 0; d < spatial; ++d) order.push_back(p.lhs_spec[d + 2]);
  order.push_back(p.lhs_spec[1]);
  int64_t places = 1, positions = out[p.out_spec[0]];
  for (size_t d = 0; d < spatial; ++d) {
    places *= rhs[p.rhs_spec[d + 2]];
    positions *= out[p.out_spec[d + 2]];
  }
  const int64_t features = lhs.shape()[p.lhs_spec[1]];
  std::vector<Array> parts;
  for (int64_t place = 0; place < places; ++place) {
    Dims start(lhs.ndim(), 0), limit(padded.shape().begin(), padded.shape().end()),
        strides(lhs.ndim(), 1);
    int64_t rest = place;
    for (size_t d = spatial; d-- > 0;) {
      const int64_t extent = rhs[p.rhs_spec[d + 2]], k = rest % extent, at = p.lhs_spec[d + 2];
      rest /= extent;
      start[at] = (p.reversal[d] ? extent - 1 - k : k) * p.rhs_dilation[d];
      strides[at] = p.strides[d];
      limit[at] = start[at] + (out[p.out_spec[d + 2]] - 1) * strides[at] + 1;
    }
    parts.push_back(lax::reshape(lax::transpose(lax::slice(padded, start, limit, strides), order),
                                 {positions, 1, features}));
  }
  return lax::reshape(lax::concatenate(parts, 1), {positions, places * features});
}

}  // namespace

// The kernel's, not in groups: windows by cotangent.
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

// A mapped lhs joins its batch, a mapped kernel its output features; where both are, or groups are
// in the way, examples become groups.
BatchResult batch_convolution(std::span<const Array> x, std::span<const int> dims,
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

}  // namespace tessera::ops
