// reduce_window: StableHLO's op that folds every window of an array. Pooling and cumulative sums
// are made of it.
//
// The operands are n arrays of one shape, then n initial scalars; there are n results. Folds have
// the kinds of reduce.
#pragma once

#include "tessera/ops/reductions/reduce.h"

namespace tessera {

// The geometry of windows, with one entry for each dimension. Dilations put space between elements
// (base) or between the elements of a window (window); low and high add padding, or remove elements
// if negative.
struct Windows {
  Dims size, strides, base_dilation, window_dilation, low, high;
  // Returns whether windows leave dimension d as it is: each is one element.
  bool trivial(int64_t d) const {
    return size[d] == 1 && strides[d] == 1 && base_dilation[d] == 1 && low[d] == 0 && high[d] == 0;
  }
  static Windows of_size(const Dims& size);
};
// Returns the result's shape. Throws UserError in the name of `op` unless each field has one entry
// for each dimension, positive except for padding.
Shape window_shape(std::string_view op, const Shape& shape, const Windows& windows);
// Returns XLA's SAME padding, (low, high): there are ceil(extent / stride) results.
std::pair<Dims, Dims> same_padding(const Shape& shape, const Windows& windows);

}  // namespace tessera

namespace tessera::ops {
struct ReduceWindowParams {
  Dims size, strides, base_dilation, window_dilation, low, high;
  ReduceKind kind = ReduceKind::kSum;
  FunctionRef body = {};  // for kCustom only
  Windows windows() const { return {size, strides, base_dilation, window_dilation, low, high}; }
};
extern const OpDef& reduce_window_op;

}  // namespace tessera::ops

namespace tessera::lax {

std::vector<Array> reduce_window(std::span<const Array> operands, std::span<const Array> inits,
                                 ReduceKind kind, const Windows& windows);
std::vector<Array> reduce_window(std::span<const Array> operands, std::span<const Array> inits,
                                 ir::FunctionRef body, const Windows& windows);
// Returns the fold of each window, which starts with the identity of the kind.
Array reduce_window_of(ReduceKind kind, const Array& x, const Windows& windows);
// Returns the position of each window's extremum in the flattened windowed dimensions (those that
// are not trivial): int32, the first one if several are equal, -1 if a window is empty.
Array window_argument(ReduceKind extremum, const Array& x, const Windows& windows);
// Returns the elements of x at the positions that window_argument returned, and 0 where that is -1.
Array take_window_argument(const Array& x, const Array& places, const Windows& windows);

// These return at each position of x the fold of all elements up to it (with `reverse`, from it
// on).
Array cumsum(const Array& x, int64_t axis = 0, bool reverse = false);
Array cumprod(const Array& x, int64_t axis = 0, bool reverse = false);
Array cummax(const Array& x, int64_t axis = 0, bool reverse = false);
Array cummin(const Array& x, int64_t axis = 0, bool reverse = false);
Array cumlogsumexp(const Array& x, int64_t axis = 0, bool reverse = false);

}  // namespace tessera::lax

namespace tessera::ops {

// Returns the dimension along which the windows are all elements up to each one (or, with
// `reverse`, from each one on); -1 if there is none.
int cumulative_dim(const Windows& windows, const Shape& shape, bool* reverse);
std::vector<Literal> evaluate_reduce_window(std::span<const Literal> x,
                                            const ReduceWindowParams& p);
HostCall reduce_window_call(const OpParams& params, std::span<const Type> operands,
                            std::span<const Type> results);
JvpResult jvp_reduce_window(std::span<const Array> x, std::span<const Array> t,
                            const ReduceWindowParams& p);
std::vector<Array> transpose_reduce_window(std::span<const Array> cts, std::span<const Array> x,
                                           const std::vector<bool>& linear,
                                           const ReduceWindowParams& p);

}  // namespace tessera::ops
