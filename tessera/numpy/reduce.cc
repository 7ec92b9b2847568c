#include "tessera/numpy/reduce.h"

#include <cmath>
#include <limits>

#include "tessera/numpy/elementwise.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/math.h"
#include "tessera/ops/core/identity.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/reshape.h"

namespace tessera {

using namespace ops;

using elementwise::expect_real;
using elementwise::like;

namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

// The static params of a reduction.
struct FoldParams {
  std::string name;  // of the function, for error messages
  Dims dims;         // in [0, rank), ascending
  bool keepdims = false;
  bool has_dtype = false;
  DType dtype = float32;
  bool has_where = false, has_initial = false;
  double ddof = 0;
};

// The arguments of a reduction: x, followed by `where` and `initial` if they are given.
struct Arguments {
  Array x, where, initial;
  Arguments(std::span<const Array> args, const FoldParams& p) : x(args[0]) {
    size_t next = 1;
    if (p.has_where) where = args[next++];
    if (p.has_initial) initial = args[next];
  }
};

// Returns `where`. Throws UserError if it is not bool.
const Array& masking(const char* name, const Array& where) {
  if (where.dtype() != bool_)
    type_error(name, "expected a bool array for `where`, got {}; compare it with 0 first",
               describe(where.type()));
  return where;
}

using Body = Array (*)(const Arguments&, const FoldParams&);

Array run(const char* name, const Array& x, FoldParams params, const Array& where,
          const std::optional<Array>& initial, Body body) {
  std::vector<Array> args{x};
  params.has_where = where.defined();
  if (where.defined()) args.push_back(masking(name, where));
  params.has_initial = initial.has_value();
  if (initial) {
    if (initial->ndim() != 0)
      shape_error(name, "expected a scalar for `initial`, got {}; reduce it first",
                  describe(initial->type()));
    args.push_back(*initial);
  }
  struct RunParams {
    FoldParams fold;
    Body body;
  };
  return composite(name, RunParams{params, body}, args,
                   [](const RunParams& p, std::span<const Array> a) {
                     return p.body(Arguments(a, p.fold), p.fold);
                   });
}

template <class Options>
FoldParams fold_params(const char* name, const Array& x, const Options& options) {
  FoldParams out{
      .name = name, .dims = options.axis.ascending(name, x.ndim()), .keepdims = options.keepdims};
  if constexpr (requires { options.dtype; }) {
    out.has_dtype = options.dtype.has_value();
    if (out.has_dtype) out.dtype = canonical_dtype(*options.dtype);
  }
  return out;
}

Array keep_dims(const Array& reduced, const FoldParams& p) {
  return p.keepdims ? lax::expand_dims(reduced, p.dims) : reduced;
}

// Returns x with `identity` for the elements for which `where` is false. `where` broadcasts to x's
// shape.
Array masked(std::string_view name, const Array& x, const Array& where, double identity) {
  if (!where.defined()) return x;
  return lax::select(broadcast_array(name, where, x.shape()), x, like(x, identity));
}

// Returns the default integer of its signedness for bool and small integers, others themselves.
DType promote_integer(DType dtype) {
  if (dtype == bool_) return default_int();
  if (!is_integer(dtype)) return dtype;
  const DType wide = is_unsigned(dtype) ? canonical_dtype(uint64) : default_int();
  return itemsize(wide) > itemsize(dtype) ? wide : dtype;
}

using Fold = Array (*)(const Array&, const Dims&);
using Combine = Array (*)(const Array&, const Array&);

Array accumulate(const char* name, const Arguments& args, const FoldParams& p, double identity,
                 Fold fold, Combine combine) {
  const DType result = p.has_dtype ? p.dtype : promote_integer(args.x.dtype());
  const DType computation = p.has_dtype ? result : accumulation_dtype(result);
  Array x = masked(name, as_dtype(args.x, computation), args.where, identity);
  // For bool, + is or and * is and, in both the fold and `combine`.
  if (computation == bool_) fold = identity == 0 ? lax::reduce_or : lax::reduce_and;
  Array out = fold(x, p.dims);
  if (args.initial.defined())
    out = combine(broadcast_array(name, as_dtype(args.initial, computation), out.shape()), out);
  return as_dtype(keep_dims(out, p), result);
}

// Returns the number of elements that are folded into each result.
Array count(const char* name, const Arguments& args, const FoldParams& p, DType dtype) {
  if (!args.where.defined()) {
    int64_t n = 1;
    for (int64_t d : p.dims) n *= args.x.shape()[d];
    return lax::full({}, static_cast<double>(n), dtype);
  }
  const Array chosen = broadcast_array(name, args.where, args.x.shape());
  return keep_dims(lax::reduce_sum(lax::convert_element_type(chosen, dtype), p.dims), p);
}

Array divided(const char* name, const Array& x, const Array& by) {
  return lax::div(x, broadcast_array(name, by, x.shape()));
}

Array mean_of(const char* name, const Arguments& args, const FoldParams& p) {
  const DType result = p.has_dtype ? p.dtype : to_inexact(args.x.dtype());
  const DType computation = p.has_dtype ? result : accumulation_dtype(result);
  if (computation == bool_)
    type_error(name, "expected a dtype of numbers, got {}; leave `dtype` out", computation);
  FoldParams inner = p;
  inner.has_dtype = true;
  inner.dtype = computation;
  const Array total = accumulate(name, args, inner, 0, lax::reduce_sum, lax::add);
  return as_dtype(divided(name, total, count(name, args, p, computation)), result);
}

// Returns the dtype that a variance of x is computed in, before halves are widened. With integers,
// the mean and the quotient are rounded towards zero, as in JAX.
DType variance_dtype(const char* name, const Array& x, const FoldParams& p, bool integers) {
  if (!p.has_dtype) return to_inexact(x.dtype());
  if (is_inexact(p.dtype) ? is_complex(x.dtype()) && !is_complex(p.dtype)
                          : !integers || !is_integer(p.dtype) || is_complex(x.dtype()))
    type_error(name,
               "expected a {} dtype (complex for complex arrays), got {} for {}; leave `dtype` out",
               integers ? "numeric" : "floating-point", p.dtype, describe(x.type()));
  return p.dtype;
}

// Returns the variance in the dtype that was asked for; of a dtype of integers, in a floating-point
// dtype, as it may be NaN.
Array variance_of(const char* name, const Arguments& args, const FoldParams& p,
                  bool integers = false) {
  DType computation = variance_dtype(name, args.x, p, integers);
  const DType result = p.has_dtype ? computation : real_dtype(computation);
  computation = accumulation_dtype(computation);
  Arguments wide = args;
  wide.x = as_dtype(args.x, computation);
  FoldParams inner = p;
  inner.keepdims = true;
  inner.has_dtype = true;
  inner.dtype = computation;
  const Array mean = mean_of(name, wide, inner);
  Array centered = lax::sub(wide.x, broadcast_array(name, mean, wide.x.shape()));
  centered = is_complex(computation) ? lax::real(lax::mul(centered, lax::conj(centered)))
                                     : lax::square(centered);
  computation = real_dtype(computation);
  wide.x = centered;
  inner.keepdims = p.keepdims;
  inner.dtype = computation;
  const Array total = accumulate(name, wide, inner, 0, lax::reduce_sum, lax::add);
  Array n = broadcast_array(name, count(name, wide, p, computation), total.shape());
  n = lax::sub(n, like(n, p.ddof));
  const Array quotient = lax::div(total, n);
  if (is_integer(result)) return where(lax::gt(n, like(n, 0)), quotient, std::nan(""));
  return as_dtype(lax::select(lax::gt(n, like(n, 0)), quotient, like(total, std::nan(""))), result);
}

struct Extremum {
  Fold fold, fold_bool;
  Combine combine;
  double identity;  // for floats
};
const Extremum kMax{lax::reduce_max, lax::reduce_or, lax::max, -kUnbounded};
const Extremum kMin{lax::reduce_min, lax::reduce_and, lax::min, kUnbounded};

// Returns the value that never wins, as a scalar of x's dtype.
Array extremum_identity(const Array& x, const Extremum& e) {
  return lax::constant(
      reduce_identity(e.identity > 0 ? ReduceKind::kMin : ReduceKind::kMax, x.dtype()));
}

// Folds complex numbers in the order of their real, then of their imaginary parts. If any is NaN,
// the result is NaN.
Array complex_fold(const Array& z, const Dims& dims, const Extremum& e) {
  const Array re = lax::real(z), im = lax::imag(z);
  const Array real = e.fold(re, dims);
  const Array back = broadcast_array("max", lax::expand_dims(real, dims), re.shape());
  const Array imag = e.fold(lax::select(lax::eq(re, back), im, like(im, e.identity)), dims);
  const Array nan = lax::reduce_or(elementwise::is_nan(z), dims), value = like(real, std::nan(""));
  return lax::complex(lax::select(nan, value, real), lax::select(nan, value, imag));
}

Array extremum_of(const Arguments& args, const FoldParams& p, const Extremum& e) {
  const std::string& name = p.name;
  Array x = as_dtype(args.x, args.x.dtype());
  if (!args.initial.defined()) {
    if (args.where.defined())
      value_error(
          name,
          "expected `initial` with `where` (an empty {} has no value), got none; give .initial",
          name);
    for (int64_t d : p.dims)
      if (x.shape()[d] == 0)
        shape_error(
            name,
            "expected a non-empty reduction (it has no identity), got {} over {}; give .initial",
            describe(x.type()), p.dims);
  }
  if (args.where.defined())
    x = lax::select(broadcast_array(name, args.where, x.shape()), x,
                    broadcast_array(name, extremum_identity(x, e), x.shape()));
  Array out = x.dtype() == bool_      ? e.fold_bool(x, p.dims)
              : is_complex(x.dtype()) ? complex_fold(x, p.dims, e)
                                      : e.fold(x, p.dims);
  if (args.initial.defined())
    out = e.combine(broadcast_array(name, as_dtype(args.initial, x.dtype()), out.shape()), out);
  return keep_dims(out, p);
}

template <const Extremum& e>
Array extremum(const char* name, const Array& x, const ExtremumOptions& o) {
  return run(name, x, fold_params(name, x, o), o.where, o.initial,
             [](const Arguments& a, const FoldParams& p) { return extremum_of(a, p, e); });
}

// Returns x with NaNs replaced by `value`, or x itself if its dtype has no NaN.
Array without_nan(const Array& x, const Array& value) {
  return is_inexact(x.dtype())
             ? lax::select(elementwise::is_nan(x), broadcast_array("nan", value, x.shape()), x)
             : x;
}

// Returns `where`, but false for NaN.
Array not_nan(const char* name, const Arguments& args) {
  const Array number = lax::bitwise_not(elementwise::is_nan(args.x));
  return args.where.defined()
             ? lax::bitwise_and(broadcast_array(name, args.where, args.x.shape()), number)
             : number;
}

template <const Extremum& e>
Array nan_extremum(const char* name, const Array& x, const ExtremumOptions& o) {
  return run(name, x, fold_params(name, x, o), o.where, o.initial,
             [](const Arguments& a, const FoldParams& p) {
               Arguments clean = a;
               clean.x = without_nan(a.x, extremum_identity(a.x, e));
               const Array out = extremum_of(clean, p, e);
               if (!is_inexact(a.x.dtype()) || a.initial.defined()) return out;
               const Array none = keep_dims(lax::reduce_and(elementwise::is_nan(a.x), p.dims), p);
               return lax::select(none, like(out, std::nan("")), out);
             });
}

using ArgFold = Array (*)(const Array&, int64_t, DType);

struct ArgParams {
  std::string name;
  ArgFold function;
  bool flat;
  int64_t axis;
  bool keepdims;
  double of_nan;  // value that replaces NaN
};

ArgParams arg_params(const char* name, const Array& x, const ArgOptions& o, ArgFold function,
                     double of_nan = 0) {
  expect_real(name, x);
  const int64_t axis = o.axis ? normalize_axis(name, *o.axis, x.ndim()) : 0;
  return {name, function, !o.axis, axis, o.keepdims, of_nan};
}

Array arg_of(const Array& x, const ArgParams& p) {
  const Array flat = p.flat ? lax::reshape(x, {x.size()}) : x;
  if (flat.shape()[p.axis] == 0)
    shape_error(p.name, "expected a non-empty axis, got {}; it has no largest or smallest element",
                describe(x.type()));
  return p.function(flat, p.axis, default_int());
}

// Returns a result of arg_of, or an array of its shape, with x's axis at extent 1 if keepdims is
// set.
Array keep_axis(const Array& out, const Array& x, const ArgParams& p) {
  if (!p.keepdims) return out;
  return lax::expand_dims(out, p.flat ? iota_dims(x.ndim()) : Dims{p.axis});
}

Array arg_extremum(const char* name, const Array& x, const ArgOptions& o, ArgFold function) {
  return composite(name, arg_params(name, x, o, function), {x},
                   [](const ArgParams& p, std::span<const Array> a) {
                     return keep_axis(arg_of(a[0], p), a[0], p);
                   });
}

Array nan_arg_extremum(const char* name, const Array& x, const ArgOptions& o, ArgFold function,
                       double identity) {
  return composite(name, arg_params(name, x, o, function, identity), {x},
                   [](const ArgParams& p, std::span<const Array> a) {
                     if (!is_inexact(a[0].dtype())) return keep_axis(arg_of(a[0], p), a[0], p);
                     const Array nan = elementwise::is_nan(a[0]);
                     const Array places = arg_of(lax::select(nan, like(a[0], p.of_nan), a[0]), p);
                     const Array all =
                         lax::reduce_and(p.flat ? lax::reshape(nan, {nan.size()}) : nan, {p.axis});
                     return keep_axis(lax::select(all, like(places, -1), places), a[0], p);
                   });
}

template <bool of_all>
Array fold_truth(const char* name, const Array& x, const LogicOptions& o) {
  return run(name, x, fold_params(name, x, o), o.where, {},
             [](const Arguments& a, const FoldParams& p) {
               const Array truth = a.x.dtype() == bool_ ? a.x : lax::ne(a.x, like(a.x, 0));
               const Array chosen = masked(p.name, truth, a.where, of_all);
               return keep_dims(
                   of_all ? lax::reduce_and(chosen, p.dims) : lax::reduce_or(chosen, p.dims), p);
             });
}

}  // namespace

Array sum(const Array& x, const ReduceOptions& o) {
  return run("sum", x, fold_params("sum", x, o), o.where, o.initial,
             [](const Arguments& a, const FoldParams& p) {
               return accumulate("sum", a, p, 0, lax::reduce_sum, lax::add);
             });
}

Array prod(const Array& x, const ReduceOptions& o) {
  return run("prod", x, fold_params("prod", x, o), o.where, o.initial,
             [](const Arguments& a, const FoldParams& p) {
               return accumulate("prod", a, p, 1, lax::reduce_prod, lax::mul);
             });
}

Array max(const Array& x, const ExtremumOptions& o) { return extremum<kMax>("max", x, o); }
Array min(const Array& x, const ExtremumOptions& o) { return extremum<kMin>("min", x, o); }

Array ptp(const Array& x, const ExtremumOptions& o) {
  return run("ptp", x, fold_params("ptp", x, o), o.where, o.initial,
             [](const Arguments& a, const FoldParams& p) {
               return lax::sub(extremum_of(a, p, kMax), extremum_of(a, p, kMin));
             });
}

Array any(const Array& x, const LogicOptions& o) { return fold_truth<false>("any", x, o); }
Array all(const Array& x, const LogicOptions& o) { return fold_truth<true>("all", x, o); }

Array count_nonzero(const Array& x, const LogicOptions& o) {
  return run("count_nonzero", x, fold_params("count_nonzero", x, o), o.where, {},
             [](const Arguments& a, const FoldParams& p) {
               const Array truth = a.x.dtype() == bool_ ? a.x : lax::ne(a.x, like(a.x, 0));
               const Array chosen = masked("count_nonzero", truth, a.where, 0);
               return keep_dims(
                   lax::reduce_sum(lax::convert_element_type(chosen, default_int()), p.dims), p);
             });
}

Array mean(const Array& x, const MeanOptions& o) {
  return run("mean", x, fold_params("mean", x, o), o.where, {},
             [](const Arguments& a, const FoldParams& p) { return mean_of("mean", a, p); });
}

Array var(const Array& x, const VarOptions& o) {
  FoldParams params = fold_params("var", x, o);
  params.ddof = o.ddof;
  return run("var", x, params, o.where, {}, [](const Arguments& a, const FoldParams& p) {
    return variance_of("var", a, p, true);
  });
}

Array std(const Array& x, const VarOptions& o) {
  FoldParams params = fold_params("std", x, o);
  params.ddof = o.ddof;
  return run("std", x, params, o.where, {}, [](const Arguments& a, const FoldParams& p) {
    return lax::sqrt(variance_of("std", a, p));
  });
}

Array argmax(const Array& x, const ArgOptions& o) {
  return arg_extremum("argmax", x, o, lax::argmax);
}
Array argmin(const Array& x, const ArgOptions& o) {
  return arg_extremum("argmin", x, o, lax::argmin);
}

Array nanargmax(const Array& x, const ArgOptions& o) {
  return nan_arg_extremum("nanargmax", x, o, lax::argmax, -kUnbounded);
}
Array nanargmin(const Array& x, const ArgOptions& o) {
  return nan_arg_extremum("nanargmin", x, o, lax::argmin, kUnbounded);
}

Array nansum(const Array& x, const ReduceOptions& o) {
  return run("nansum", x, fold_params("nansum", x, o), o.where, o.initial,
             [](const Arguments& a, const FoldParams& p) {
               Arguments clean = a;
               clean.x = without_nan(a.x, lax::full({}, 0, a.x.dtype()));
               return accumulate("nansum", clean, p, 0, lax::reduce_sum, lax::add);
             });
}

Array nanprod(const Array& x, const ReduceOptions& o) {
  return run("nanprod", x, fold_params("nanprod", x, o), o.where, o.initial,
             [](const Arguments& a, const FoldParams& p) {
               Arguments clean = a;
               clean.x = without_nan(a.x, lax::full({}, 1, a.x.dtype()));
               return accumulate("nanprod", clean, p, 1, lax::reduce_prod, lax::mul);
             });
}

Array nanmean(const Array& x, const MeanOptions& o) {
  return run("nanmean", x, fold_params("nanmean", x, o), o.where, {},
             [](const Arguments& a, const FoldParams& p) {
               Arguments clean = a;
               clean.where = not_nan("nanmean", a);
               return mean_of("nanmean", clean, p);
             });
}

Array nanvar(const Array& x, const VarOptions& o) {
  FoldParams params = fold_params("nanvar", x, o);
  params.ddof = o.ddof;
  return run("nanvar", x, params, o.where, {}, [](const Arguments& a, const FoldParams& p) {
    Arguments clean = a;
    clean.where = not_nan("nanvar", a);
    clean.x = lax::select(clean.where, a.x, like(a.x, 0));  // else gradients would be NaN
    const Array out = variance_of("nanvar", clean, p, true);
    return p.has_dtype ? as_dtype(out, p.dtype) : out;
  });
}

Array nanstd(const Array& x, const VarOptions& o) {
  FoldParams params = fold_params("nanstd", x, o);
  params.ddof = o.ddof;
  return run("nanstd", x, params, o.where, {}, [](const Arguments& a, const FoldParams& p) {
    Arguments clean = a;
    clean.where = not_nan("nanstd", a);
    clean.x = lax::select(clean.where, a.x, like(a.x, 0));  // else gradients would be NaN
    return lax::sqrt(variance_of("nanstd", clean, p));
  });
}

Array nanmax(const Array& x, const ExtremumOptions& o) {
  return nan_extremum<kMax>("nanmax", x, o);
}
Array nanmin(const Array& x, const ExtremumOptions& o) {
  return nan_extremum<kMin>("nanmin", x, o);
}

namespace {

// Returns log(sum(b exp(x))). b may be undefined; otherwise it has x's type.
Array log_of_sum(const Arguments& args, const Array& b, const FoldParams& p) {
  const char* name = "logsumexp";
  const Array x = as_dtype(args.x, to_inexact(args.x.dtype()));
  const bool complex = is_complex(x.dtype());
  Array taken;
  if (args.where.defined()) taken = broadcast_array(name, args.where, x.shape());
  if (b.defined()) {
    const Array counts = lax::ne(b, like(b, 0));
    taken = taken.defined() ? lax::bitwise_and(taken, counts) : counts;
  }
  const Array real = complex ? lax::real(x) : x;
  const Array lowest = taken.defined() ? lax::select(taken, real, like(real, -kUnbounded)) : real;
  Array largest = lax::reduce_max(lowest, p.dims);
  // An infinite maximum is not subtracted: inf - inf is NaN.
  largest = lax::stop_gradient(lax::select(lax::is_finite(largest), largest, like(largest, 0)));
  const Array origin = broadcast_array(name, lax::expand_dims(largest, p.dims), x.shape());
  Array power;
  if (complex) {
    power = lax::exp(lax::sub(x, lax::complex(origin, like(origin, 0))));
    if (taken.defined()) power = lax::select(taken, power, like(power, 0));
  } else {
    power = lax::exp(lax::sub(lowest, origin));
  }
  if (b.defined()) power = lax::mul(power, b);
  if (b.defined() && taken.defined()) power = lax::select(taken, power, like(power, 0));
  const Array total = lax::reduce_sum(power, p.dims);
  const Array offset = complex ? lax::complex(largest, like(largest, 0)) : largest;
  const Array out = lax::add(lax::log(total), offset);
  if (complex || !b.defined()) return keep_dims(out, p);
  // NaN is selected, not computed, so that its derivative is 0 as in JAX.
  const Array none = like(out, std::numeric_limits<double>::quiet_NaN());
  return keep_dims(lax::select(lax::lt(total, like(total, 0)), none, out), p);
}

}  // namespace

Array average(const Array& x, const AverageOptions& o) {
  if (!o.weights.defined()) return mean(x, {.axis = o.axis, .keepdims = o.keepdims});
  const FoldParams params = fold_params("average", x, o);
  const Dims order = o.axis.in_order("average", x.ndim());
  Shape extents;
  for (int64_t d : order) extents.push_back(x.shape()[d]);
  const bool whole = o.weights.shape() == x.shape();
  if (!whole && (o.axis.all() || o.weights.shape() != extents))
    shape_error(
        "average",
        "expected weights of the array's shape {} or of its extents along the axes {}, got {}",
        x.shape(), extents, describe(o.weights.type()));
  struct AverageParams {
    FoldParams fold;
    Dims order;
    bool whole;
  };
  return composite(
      "average", AverageParams{params, order, whole}, {x, o.weights},
      [](const AverageParams& average, std::span<const Array> args) {
        const FoldParams& fold = average.fold;
        const std::vector<Array> p = promote_dtypes(args, Promotion::kInexact);
        Array weights = p[1];
        if (!average.whole) {
          Dims permutation;  // the weights' dimensions in the order of x
          for (int64_t d : fold.dims) {
            for (int64_t k = 0; k < average.order.rank(); ++k)
              if (average.order[k] == d) permutation.push_back(k);
          }
          Shape shape(static_cast<size_t>(p[0].ndim()), 1);
          for (int64_t d : fold.dims) shape[d] = p[0].shape()[d];
          weights = broadcast_array(
              "average", lax::reshape(lax::transpose(weights, permutation), shape), p[0].shape());
        }
        const Array total = keep_dims(lax::reduce_sum(weights, fold.dims), fold);
        return lax::div(keep_dims(lax::reduce_sum(lax::mul(p[0], weights), fold.dims), fold),
                        total);
      });
}

Array logsumexp(const Array& x, const LogsumexpOptions& o) {
  const char* name = "logsumexp";
  FoldParams params = fold_params(name, x, o);
  if (!o.b.defined())
    return run(name, x, params, o.where, {},
               [](const Arguments& a, const FoldParams& p) { return log_of_sum(a, {}, p); });
  const Shape shape = broadcast_shapes(name, std::vector<Shape>{x.shape(), o.b.shape()});
  params.dims = o.axis.ascending(name, shape.rank());
  std::vector<Array> args{x, o.b};
  params.has_where = o.where.defined();
  if (params.has_where) args.push_back(masking(name, o.where));
  return composite("logsumexp_b", params, args, [](const FoldParams& p, std::span<const Array> a) {
    const std::vector<Array> both = promote_and_broadcast(p.name, a.first(2), Promotion::kInexact);
    std::vector<Array> rest{both[0]};
    rest.insert(rest.end(), a.begin() + 2, a.end());
    return log_of_sum(Arguments(rest, p), both[1], p);
  });
}

}  // namespace tessera
