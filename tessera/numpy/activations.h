// Activations of jax.nn beside those of nn.h, and logarithms of means and differences of
// exponentials.
#pragma once

#include "tessera/numpy/nn.h"
#include "tessera/numpy/reduce.h"

namespace tessera {

inline Array hard_swish(const Array& x) { return hard_silu(x); }
// (x + sqrt(x^2 + b)) / 2, which softplus looks like.
Array squareplus(const Array& x, const Array& b = 4.0);
// 0 up to -1, x from 1 on, (x + 1)^2 / 4 between; its derivative, (x + 1) / 2 between.
Array sparse_plus(const Array& x);
Array sparse_sigmoid(const Array& x);
// log(1 - exp(-x)) for x >= 0, precise for small and large x; NaN below 0.
Array log1mexp(const Array& x);
struct LogmeanexpOptions {
  Axes axis = None;
  Array where = {};
  bool keepdims = false;
};
// log(mean(exp(x))) without overflow; NaN of nothing.
Array logmeanexp(const Array& x, const LogmeanexpOptions& options = {});

}  // namespace tessera
