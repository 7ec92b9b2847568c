// Reductions, as in jax.numpy, over all dimensions or over `axis`. The result does not have these
// dimensions, or with .keepdims has them with extent 1.
//
//   sum(x);
//   sum(x, {.axis = 0});
//   mean(x, {.axis = {0, -1}, .keepdims = true});
//
// All functions throw UserError for an axis outside of [-ndim, ndim) or named twice, and for a
// dtype that they do not take.
#pragma once

#include <optional>

#include "tessera/ir/array.h"
#include "tessera/numpy/axes.h"

namespace tessera {

struct ReduceOptions {
  Axes axis = None;
  bool keepdims = false;
  std::optional<DType> dtype = std::nullopt;  // of the computation and the result
  Array where = {};  // bool, broadcasts to x: elements to fold; absent: all
  std::optional<Array> initial = std::nullopt;  // a scalar, folded in last
};

// Small integers and bool are summed in the default integer of their signedness; float16 and
// bfloat16 in float32, and the result is converted back.
Array sum(const Array& x, const ReduceOptions& options = {});
Array prod(const Array& x, const ReduceOptions& options = {});

struct ExtremumOptions {
  Axes axis = None;
  bool keepdims = false;
  Array where = {};  // if given, `initial` is needed
  std::optional<Array> initial = std::nullopt;
};
// The result is NaN if any element is. Throws UserError for a reduction of no elements without
// `initial`.
Array max(const Array& x, const ExtremumOptions& options = {});
Array min(const Array& x, const ExtremumOptions& options = {});
Array amax(const Array& x, const ExtremumOptions& options = {});
Array amin(const Array& x, const ExtremumOptions& options = {});
Array ptp(const Array& x, const ExtremumOptions& options = {});  // max - min

struct LogicOptions {
  Axes axis = None;
  bool keepdims = false;
  Array where = {};
};
Array any(const Array& x, const LogicOptions& options = {});
Array all(const Array& x, const LogicOptions& options = {});
Array count_nonzero(const Array& x, const LogicOptions& options = {});  // default integers

struct MeanOptions {
  Axes axis = None;
  bool keepdims = false;
  std::optional<DType> dtype = std::nullopt;
  Array where = {};
};
// Returns the mean. Integers are computed in float32, unless `dtype` is one of integers: then the
// sum is divided and rounded towards zero. The mean of no elements is NaN.
Array mean(const Array& x, const MeanOptions& options = {});

struct VarOptions {
  Axes axis = None;
  bool keepdims = false;
  double ddof = 0;  // divides by count - ddof; the result is NaN if that is not positive
  std::optional<DType> dtype = std::nullopt;
  Array where = {};
};
// The variance of complex numbers is the mean of |z - mean|^2, which is real. var and nanvar take a
// dtype of integers too, and compute it with a rounded mean.
Array var(const Array& x, const VarOptions& options = {});
Array std(const Array& x, const VarOptions& options = {});

struct ArgOptions {
  OrNone<int64_t> axis = std::nullopt;  // None: of the flattened array
  bool keepdims = false;
};
// Return the index of the first largest (smallest) element, in the default integer dtype. NaN is
// both the largest and the smallest. Throws UserError for an empty axis.
Array argmax(const Array& x, const ArgOptions& options = {});
Array argmin(const Array& x, const ArgOptions& options = {});

// The same functions, leaving NaNs out.
Array nansum(const Array& x, const ReduceOptions& options = {});
Array nanprod(const Array& x, const ReduceOptions& options = {});
Array nanmean(const Array& x, const MeanOptions& options = {});
Array nanvar(const Array& x, const VarOptions& options = {});
Array nanstd(const Array& x, const VarOptions& options = {});
Array nanmax(const Array& x, const ExtremumOptions& options = {});  // NaN if all elements are
Array nanmin(const Array& x, const ExtremumOptions& options = {});
Array nanargmax(const Array& x, const ArgOptions& options = {});  // -1 if all elements are NaN
Array nanargmin(const Array& x, const ArgOptions& options = {});

struct AverageOptions {
  Axes axis = None;
  Array weights = {};  // of x's shape, or of the extents of `axis`; absent: 1
  bool keepdims = false;
};
Array average(const Array& x, const AverageOptions& options = {});

struct LogsumexpOptions {
  Axes axis = None;
  bool keepdims = false;
  Array where = {};
  Array b = {};  // factors of the exponentials, broadcast with x; absent: 1
};
// Returns log(sum(b exp(x))) without overflow. It is -inf for no elements, NaN for a negative sum.
// Takes complex numbers too.
Array logsumexp(const Array& x, const LogsumexpOptions& options = {});

}  // namespace tessera
