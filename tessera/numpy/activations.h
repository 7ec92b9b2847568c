// The activations of jax.nn that nn.h does not have, and logarithms of means and differences of
// exponentials.
#pragma once

#include "tessera/numpy/nn.h"
#include "tessera/numpy/reduce.h"

namespace tessera {

Array hard_swish(const Array& x);
// Returns (x + sqrt(x^2 + b)) / 2, a smooth function near softplus.
Array squareplus(const Array& x, const Array& b = 4.0);
// sparse_plus returns 0 for x <= -1, x for x >= 1 and (x + 1)^2 / 4 between. sparse_sigmoid returns
// its derivative, which is (x + 1) / 2 between.
Array sparse_plus(const Array& x);
Array sparse_sigmoid(const Array& x);
// Returns log(1 - exp(-x)) for x >= 0, precise for small and large x. The result is NaN for x < 0.
Array log1mexp(const Array& x);
struct LogmeanexpOptions {
  Axes axis = None;
  Array where = {};
  bool keepdims = false;
};
// Returns log(mean(exp(x))) without overflow. The mean of no elements is NaN.
Array logmeanexp(const Array& x, const LogmeanexpOptions& options = {});

}  // namespace tessera
