#include "tessera/numpy/differences.h"

#include <limits>

#include "tessera/compile/composite.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/dtype_info.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/indexing.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/promotion.h"
#include "tessera/numpy/reduce.h"
#include "tessera/numpy/searching.h"
#include "tessera/numpy/sorting.h"

namespace tessera {

namespace {

// Returns elements [start, extent + stop) along an axis; stop is not positive.
Array along_axis(const Array& x, int64_t axis, int64_t start, int64_t stop) {
  return slice_in_dim(x, start, x.shape()[axis] + stop, axis);
}
Array steps(const Array& x, int64_t axis) {
  return along_axis(x, axis, 1, 0) - along_axis(x, axis, 0, -1);
}

// Returns the elements to put before or behind x along an axis. A scalar becomes one slice of x's
// shape.
Array beside(const Array& x, const Array& value, int64_t axis) {
  if (value.ndim() > 0) return value;
  Shape shape = x.shape();
  shape[axis] = 1;
  return broadcast_to(value, shape);
}

}  // namespace

Array diff(const Array& x, const DiffOptions& o) {
  if (x.ndim() == 0)
    shape_error("diff", "expected at least 1 dimension, got {}", describe(x.type()));
  if (o.n < 0) value_error("diff", "expected n >= 0, got {}", o.n);
  const int64_t axis = normalize_axis("diff", o.axis, x.ndim());
  std::vector<Array> parts;
  if (o.prepend) parts.push_back(beside(x, *o.prepend, axis));
  parts.push_back(x);
  if (o.append) parts.push_back(beside(x, *o.append, axis));
  const Array all = parts.size() == 1 ? x : concatenate(parts, axis);
  struct DiffParams {
    int64_t n, axis;
  };
  return composite(
      "diff", DiffParams{o.n, axis}, {all}, [](const DiffParams& p, std::span<const Array> a) {
        Array out = a[0];
        for (int64_t i = 0; i < p.n && out.shape()[p.axis] > 0; ++i)
          out = out.dtype() == bool_
                    ? not_equal(along_axis(out, p.axis, 1, 0), along_axis(out, p.axis, 0, -1))
                    : steps(out, p.axis);
        return out;
      });
}

Array ediff1d(const Array& x, const Ediff1dOptions& o) {
  const Array flat = ravel(x);
  const Array inner = flat.size() > 0 ? steps(flat, 0) : flat;
  std::vector<Array> parts;
  if (o.to_begin) parts.push_back(as_dtype(ravel(*o.to_begin), x.dtype()));
  parts.push_back(inner);
  if (o.to_end) parts.push_back(as_dtype(ravel(*o.to_end), x.dtype()));
  return parts.size() == 1 ? inner : concatenate(parts);
}

namespace {

// Returns the derivative of f along an axis. h is the distance of neighbours, or a vector of their
// coordinates.
Array derivative_along(const Array& f, const Array& h, int64_t axis) {
  const int64_t n = f.shape()[axis];
  const Array first = slice_in_dim(f, 1, 2, axis) - slice_in_dim(f, 0, 1, axis),
              last = slice_in_dim(f, n - 1, n, axis) - slice_in_dim(f, n - 2, n - 1, axis);
  if (h.ndim() == 0) {
    const Array inner = (along_axis(f, axis, 2, 0) - along_axis(f, axis, 0, -2)) * 0.5 / h;
    return concatenate({first / h, inner, last / h}, axis);
  }
  Shape along(static_cast<size_t>(f.ndim()), 1);
  along[axis] = n - 1;
  const Array d = reshape(steps(h, 0), along);
  const Array before = along_axis(d, axis, 0, -1), after = along_axis(d, axis, 1, 0);
  // At each inner point: the derivative of the parabola through it and its two neighbours.
  const Array both = before + after;
  const Array inner = along_axis(f, axis, 0, -2) * (-after / (before * both)) +
                      along_axis(f, axis, 1, -1) * ((after - before) / (before * after)) +
                      along_axis(f, axis, 2, 0) * (before / (after * both));
  return concatenate(
      {first / slice_in_dim(d, 0, 1, axis), inner, last / slice_in_dim(d, n - 2, n - 1, axis)},
      axis);
}

}  // namespace

std::vector<Array> gradient(const Array& f, const GradientOptions& o) {
  const char* name = "gradient";
  const Dims axes = o.axis.in_order(name, f.ndim());
  const size_t given = o.spacing.size();
  if (given > 1 && static_cast<int64_t>(given) != axes.rank())
    value_error(name, "expected no spacing, one, or one for each of {} axes, got {}", axes.rank(),
                given);
  for (int64_t i = 0; i < axes.rank(); ++i) {
    const int64_t extent = f.shape()[axes[i]];
    if (extent < 2)
      shape_error(name, "expected at least 2 elements along axis {}, got {}", axes[i],
                  describe(f.type()));
    if (given == 0) continue;
    const Array& h = o.spacing[given == 1 ? 0 : static_cast<size_t>(i)];
    if (h.ndim() > 1 || (h.ndim() == 1 && h.size() != extent))
      shape_error(name,
                  "expected a number or a vector of {} coordinates as the spacing of axis {}, got "
                  "{}",
                  extent, axes[i], describe(h.type()));
  }
  std::vector<Array> args{f};
  args.insert(args.end(), o.spacing.begin(), o.spacing.end());
  struct GradientParams {
    Dims axes;
  };
  return composite(name, GradientParams{axes}, args,
                   [](const GradientParams& p, std::span<const Array> a) {
                     const std::vector<Array> same = promote_dtypes(a, Promotion::kInexact);
                     std::vector<Array> out;
                     for (int64_t i = 0; i < p.axes.rank(); ++i) {
                       const Array h = same.size() == 1   ? Array(1.0)
                                       : same.size() == 2 ? same[1]
                                                          : same[static_cast<size_t>(i) + 1];
                       out.push_back(derivative_along(same[0], h, p.axes[i]));
                     }
                     return out;
                   });
}

Array trapezoid(const Array& y, const TrapezoidOptions& o) {
  const char* name = "trapezoid";
  const int64_t axis = normalize_axis(name, o.axis, y.ndim());
  if (o.x && o.x->ndim() == 0)
    shape_error(name, "expected x with at least 1 dimension, got {}", describe(o.x->type()));
  if (o.x && o.x->ndim() == 1 && o.x->size() != y.shape()[axis])
    shape_error(name, "expected one x for each element along axis {} of {}, got {}", axis,
                describe(y.type()), describe(o.x->type()));
  struct TrapezoidParams {
    int64_t axis;
    bool has_x;
  };
  const TrapezoidParams params{axis, o.x.has_value()};
  return composite(
      name, params, {y, o.x ? *o.x : o.dx}, [](const TrapezoidParams& p, std::span<const Array> a) {
        const std::vector<Array> same = promote_dtypes(a, Promotion::kInexact);
        const Array y = p.has_x ? same[0] : promote(a[0], Promotion::kInexact);
        const Array values = moveaxis(y, p.axis, -1);
        const int64_t last = values.ndim() - 1;
        Array distance = p.has_x ? same[1] : a[1];
        if (p.has_x) {
          if (distance.ndim() > 1) distance = moveaxis(distance, p.axis, -1);
          distance = steps(distance, distance.ndim() - 1);
        }
        return 0.5 *
               sum(distance * (along_axis(values, last, 1, 0) + along_axis(values, last, 0, -1)),
                   {.axis = -1});
      });
}

Array unwrap(const Array& p, const UnwrapOptions& o) {
  const char* name = "unwrap";
  if (is_complex(p.dtype()))
    type_error(name, "expected real numbers, got {}; take angle(z) first", describe(p.type()));
  const int64_t axis = normalize_axis(name, o.axis, p.ndim());
  const Array period = o.period.value_or(Array(2 * M_PI));
  std::vector<Array> args{p, period};
  if (o.discont) args.push_back(*o.discont);
  struct UnwrapParams {
    int64_t axis;
  };
  return composite(
      name, UnwrapParams{axis}, args,
      [](const UnwrapParams& params, std::span<const Array> a) -> Array {
        const std::vector<Array> same = promote_dtypes(a.first(2));
        const Array &x = same[0], &period = same[1];
        if (x.shape()[params.axis] == 0) return x;
        const Array half = is_integer(x.dtype()) ? floor_divide(period, 2) : period / 2;
        const Array jump_size = a.size() > 2 ? a[2] : period / 2;
        const Array d = steps(x, params.axis);
        Array wrapped = remainder(d + half, period) - half;
        wrapped = where((wrapped == -half) & (d > 0), half, wrapped);
        const Array correction = where(abs(d) < jump_size, 0, wrapped - d);
        return concatenate(
            {slice_in_dim(x, 0, 1, params.axis),
             along_axis(x, params.axis, 1, 0) + cumsum(correction, {.axis = params.axis})},
            params.axis);
      });
}

namespace {

struct InterpParams {
  int left, right;  // index of the alternative of InterpOutside
  bool periodic;
  double smallest;  // slopes are computed only between points at least this far apart
};

// Returns the distance up to which two points count as one, as in JAX: numbers near epsilon are
// that far apart.
double smallest_distance(DType dtype) {
  const double eps = finfo(dtype).eps;
  return eps * eps;
}

Array interp_body(const InterpParams& p, std::span<const Array> a) {
  const std::vector<Array> same = promote_dtypes(a.first(2), Promotion::kInexact);
  Array x = same[0], points = same[1], values = promote(a[2], Promotion::kInexact);
  size_t next = 3;
  const Array left = p.left == 1 ? a[next++] : Array(), right = p.right == 1 ? a[next++] : Array();
  if (p.periodic) {
    const Array period = abs(a[next]);
    x = remainder(x, period);
    points = remainder(points, period);
    const Array order = argsort(points);
    points = take(points, order);
    values = take(values, order);
    const int64_t n = points.size();
    points = concatenate(
        {slice_in_dim(points, n - 1, n) - period, points, slice_in_dim(points, 0, 1) + period});
    values = concatenate({slice_in_dim(values, n - 1, n), values, slice_in_dim(values, 0, 1)});
  }
  const int64_t n = points.size();
  const Array i = clip(searchsorted(points, x, {.side = Side::kRight}), 1, n - 1);
  const Array x0 = take(points, i - 1), y0 = take(values, i - 1);
  const Array dx = take(points, i) - x0, dy = take(values, i) - y0;
  const Array none = abs(dx) <= full_like(dx, p.smallest);
  Array out = where(none, y0, y0 + (x - x0) / where(none, 1, dx) * dy);
  if (p.periodic) return out;
  const Array first = index_in_dim(values, 0, 0, false),
              last = index_in_dim(values, n - 1, 0, false);
  if (p.left != 2)
    out = where(x < index_in_dim(points, 0, 0, false), p.left == 1 ? left : first, out);
  if (p.right != 2)
    out = where(x > index_in_dim(points, n - 1, 0, false), p.right == 1 ? right : last, out);
  return out;
}

}  // namespace

Array interp(const Array& x, const Array& xp, const Array& fp, const InterpOptions& o) {
  const char* name = "interp";
  if (xp.ndim() != 1 || xp.shape() != fp.shape() || xp.size() == 0)
    shape_error(name, "expected vectors xp and fp of one size of at least 1, got {} and {}",
                describe(xp.type()), describe(fp.type()));
  if (is_complex(x.dtype()) || is_complex(xp.dtype()))
    type_error(name, "expected real x and xp, got {} and {}", describe(x.type()),
               describe(xp.type()));
  if (o.period && o.period->ndim() != 0)
    shape_error(name, "expected a scalar as the period, got {}", describe(o.period->type()));
  std::vector<Array> args{x, xp, fp};
  for (const InterpOutside* outside : {&o.left, &o.right})
    if (const Array* value = std::get_if<Array>(outside)) args.push_back(*value);
  if (o.period) args.push_back(*o.period);
  const std::vector<Array> both{x, xp};
  const DType dtype = to_inexact(result_type(both).dtype);
  const InterpParams params{static_cast<int>(o.left.index()), static_cast<int>(o.right.index()),
                            o.period.has_value(), smallest_distance(dtype)};
  return composite(name, params, args, interp_body);
}

}  // namespace tessera
