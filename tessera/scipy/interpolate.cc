#include "tessera/scipy/interpolate.h"

#include <cmath>

#include "tessera/compile/composite.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/indexing.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/promotion.h"
#include "tessera/numpy/reduce.h"
#include "tessera/numpy/searching.h"

namespace tessera::scipy::interpolate {

namespace {

struct GridParams {
  int64_t dimensions;
  bool linear, fill;
};

// The arguments `a` are the points, the values, the vectors of the grid, and the value outside.
Array interpolated(const GridParams& p, std::span<const Array> a) {
  const std::vector<Array> same =
      promote_dtypes(std::vector<Array>{a[0], a[1]}, Promotion::kInexact);
  const Array &xi = same[0], &values = same[1];
  Shape lead(xi.shape().begin(), xi.shape().end() - 1), out_shape = lead;
  out_shape.insert(out_shape.end(), values.shape().begin() + p.dimensions, values.shape().end());
  int64_t further = 1;
  for (int64_t d = p.dimensions; d < values.ndim(); ++d) further *= values.shape()[d];
  int64_t grid_size = 1;
  for (int64_t d = 0; d < p.dimensions; ++d) grid_size *= values.shape()[d];
  const Array table = reshape(values, {grid_size, further});
  // The corners of the cell that contains a point, and the weight of each.
  std::vector<std::pair<Array, Array>> corners;
  Array outside = zeros(lead, bool_);
  for (int64_t d = 0; d < p.dimensions; ++d) {
    const Array grid = as_dtype(a[static_cast<size_t>(d) + 2], real(xi).dtype());
    const int64_t n = grid.size();
    const Array x = index_in_dim(xi, d, -1, false);
    const Array i = clip(searchsorted(grid, x) - 1, 0, n - 2);
    const Array low = take(grid, i), part = (x - low) / (take(grid, i + 1) - low);
    outside =
        outside | (x < index_in_dim(grid, 0, 0, false)) | (x > index_in_dim(grid, n - 1, 0, false));
    std::vector<std::pair<Array, Array>> choices;
    if (p.linear)
      choices = {{i, 1 - part}, {i + 1, part}};
    else
      choices = {{where(part <= 0.5, i, i + 1), Array(1.0)}};
    if (d == 0) {
      corners = choices;
      continue;
    }
    std::vector<std::pair<Array, Array>> next;
    for (const auto& [place, weight] : corners)
      for (const auto& [at, share] : choices)
        next.emplace_back(place * static_cast<int>(n) + at, weight * share);
    corners = std::move(next);
  }
  Array out;
  for (const auto& [place, weight] : corners) {
    const Array part = take(table, place, {.axis = 0}) * expand_dims(weight, -1);
    out = out.defined() ? out + part : part;
  }
  if (p.fill) out = where(expand_dims(outside, -1), as_dtype(a.back(), out.dtype()), out);
  return reshape(out, out_shape);
}

}  // namespace

RegularGridInterpolator::RegularGridInterpolator(std::vector<Array> points, const Array& values,
                                                 const GridOptions& options)
    : points_(std::move(points)), values_(values), options_(options) {
  const char* name = "RegularGridInterpolator";
  if (points_.empty() || static_cast<int64_t>(points_.size()) > values.ndim())
    value_error(name, "expected at most {} vectors of points for values of {}, got {}",
                values.ndim(), describe(values.type()), points_.size());
  for (size_t d = 0; d < points_.size(); ++d) {
    const Array& x = points_[d];
    const int64_t extent = values.shape()[static_cast<int64_t>(d)];
    if (x.shape() != Shape{extent} || extent < 2)
      shape_error(name,
                  "expected at least 2 points along dimension {}, as many as values, got {} for {}",
                  d, describe(x.type()), describe(values.type()));
    if (x.is_tracer()) continue;
    const std::vector<double> known = to_vector<double>(x);
    for (size_t i = 1; i < known.size(); ++i)
      if (!(known[i - 1] < known[i]))
        value_error(name, "expected ascending points along dimension {}, got {} before {}", d,
                    known[i - 1], known[i]);
  }
}

Array RegularGridInterpolator::operator()(const Array& xi) const {
  return (*this)(xi, options_.method);
}

Array RegularGridInterpolator::operator()(const Array& xi, GridMethod method) const {
  const char* name = "RegularGridInterpolator";
  const auto dimensions = static_cast<int64_t>(points_.size());
  if (xi.ndim() == 0 || xi.shape().back() != dimensions)
    shape_error(name, "expected points of {} coordinates along the last dimension, got {}",
                dimensions, describe(xi.type()));
  if (options_.bounds_error) {
    if (xi.is_tracer())
      trace_error(name,
                  "expected known points, since one outside is an error, got {}; write "
                  "{{.bounds_error = false}}",
                  describe(xi.type()));
    for (int64_t d = 0; d < dimensions; ++d) {
      const std::vector<double> grid = to_vector<double>(points_[static_cast<size_t>(d)]);
      for (double x : to_vector<double>(index_in_dim(xi, d, -1, false)))
        if (x < grid.front() || x > grid.back())
          value_error(name, "expected points in [{}, {}] along dimension {}, got {}", grid.front(),
                      grid.back(), d, x);
    }
  }
  std::vector<Array> args{xi, values_};
  args.insert(args.end(), points_.begin(), points_.end());
  if (options_.fill_value) args.push_back(*options_.fill_value);
  const GridParams params{dimensions, method == GridMethod::kLinear,
                          options_.fill_value.has_value()};
  return composite(name, params, args, interpolated);
}

}  // namespace tessera::scipy::interpolate
