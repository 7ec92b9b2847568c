// Activations and normalisations, as in jax.nn. Elementwise ones keep the shape. Integers are
// computed in float32.
//
// All functions throw UserError for dtypes that they do not take and axes that do not exist.
#pragma once

#include "tessera/ir/array.h"
#include "tessera/numpy/axes.h"
#include "tessera/numpy/creation.h"

namespace tessera {

Array relu(const Array& x);  // its derivative at 0 is 0
Array relu6(const Array& x);
Array leaky_relu(const Array& x, const Array& negative_slope = 0.01);
Array elu(const Array& x, const Array& alpha = 1.0);
Array celu(const Array& x, const Array& alpha = 1.0);
Array selu(const Array& x);
// Returns x * normal_cdf(x), by default its tanh approximation.
Array gelu(const Array& x, bool approximate = true);
Array sigmoid(const Array& x);  // of floating-point and complex arrays
Array silu(const Array& x);     // x * sigmoid(x)
Array swish(const Array& x);
Array softplus(const Array& x);  // log(1 + exp(x))
Array soft_sign(const Array& x);
Array log_sigmoid(const Array& x);
Array mish(const Array& x);
Array hard_tanh(const Array& x);
Array hard_sigmoid(const Array& x);
Array hard_silu(const Array& x);
// Returns the first half of x along `axis` times the sigmoid of the second half. Throws UserError
// if the extent is odd.
Array glu(const Array& x, int64_t axis = -1);

// Return exp(x) / sum(exp(x)) along the axes, and its logarithm. `where` is bool and broadcasts to
// x: elements for which it is false are left out, and their results are 0 and -inf. Throws
// UserError if it has another dtype.
Array softmax(const Array& x, const Axes& axis = -1, const Array& where = {});
Array log_softmax(const Array& x, const Axes& axis = -1, const Array& where = {});

struct StandardizeOptions {
  Axes axis = -1;
  double epsilon = 1e-5;
  Array mean = {}, variance = {};  // broadcast to x; absent: computed from x along the axes
  Array where = {};                // bool, broadcasts to x: elements used for mean and variance
};
// Returns (x - mean) / sqrt(variance + epsilon) along the axes.
Array standardize(const Array& x, const StandardizeOptions& options = {});

struct OneHotOptions {
  OptionalDType dtype = {};  // absent: the default float
  int64_t axis = -1;         // position of the new dimension
};
// Returns an array with a new dimension of `classes` elements: 1 at the index that x has there, 0
// elsewhere. For an index outside all are 0.
Array one_hot(const Array& x, int64_t classes, const OneHotOptions& options = {});

}  // namespace tessera
