// The arithmetic of the layers that linen and nnx share: functions of arrays, without parameters of
// their own. They promote dtypes as flax does: to the common inexact dtype of inputs and
// parameters, or to `dtype` if one is given.
#pragma once

#include <optional>
#include <string>

#include "tessera/numpy/creation.h"
#include "tessera/random/key.h"

namespace tessera::nn {

// Returns `dtype`, or the common inexact dtype of the arrays that are defined.
DType common_dtype(std::initializer_list<Array> arrays, OptionalDType dtype);

// Returns x @ kernel + bias over the last dimension of x. `bias` may be undefined.
Array dense(const Array& x, const Array& kernel, const Array& bias, OptionalDType dtype);
// Contracts the last `axes` dimensions of x with the first of the kernel, whose others are the
// features.
Array dense_general(const Array& x, const Array& kernel, const Array& bias, int64_t axes,
                    OptionalDType dtype);

// Returns rows of a table (rows, features) at integer indices; negative ones count from the end.
// Rows for indices outside are NaN, so that a wrong token is noticed. A table of one row is every
// token's.
Array embed(const Array& tokens, const Array& table, OptionalDType dtype);
// Returns x @ table^T: a score for each row.
Array attend(const Array& x, const Array& table, OptionalDType dtype);

// Mean and variance over the axes, in float32 or wider: E[x^2] - E[x]^2, never negative. With the
// axis name of a mesh or a vmap they are over all its members.
struct Moments {
  Array mean, variance;
};
Moments moments(const Array& x, const Dims& axes, const std::string& axis_name);
// Throws UserError for a layer that computes statistics over a batch, in a function of one example
// whose gradient is clipped by itself (privacy/clipping/clipped_grad.h).
void expect_batch(const char* op);
// Computes (x - mean) / sqrt(variance + epsilon) * scale + bias. `mean` and `variance` lack the
// axes `reduced`; scale and bias, which may be undefined, have the dimension `feature_axis`.
struct NormalizeOptions {
  Dims reduced;
  int64_t feature_axis;
  double epsilon;
  OptionalDType dtype;
};
Array normalize(const Array& x, const Moments& moments, const Array& scale, const Array& bias,
                const NormalizeOptions& options);

// Returns the number of groups of features: `num_groups`, or groups of `group_size` features each;
// exactly one of them is given. Throws UserError naming `op` where they do not divide the features.
int64_t groups_of(const char* op, int64_t features, std::optional<int64_t> num_groups,
                  std::optional<int64_t> group_size);
// Normalises over `reduction_axes`, of which the last is that of the features, within each of
// num_groups equal groups of these. If there are no axes, they are all but the first.
struct GroupNormOptions {
  int64_t num_groups;
  Dims reduction_axes;
  double epsilon;
  std::string axis_name;
  OptionalDType dtype;
};
Array group_norm(const char* op, const Array& x, const Array& scale, const Array& bias,
                 const GroupNormOptions& options);

// Returns x with each element kept with probability 1 - rate and divided by it, else 0; along
// `broadcast_dims` all elements are kept or dropped together. Throws UserError for a rate outside
// [0, 1].
Array dropout(const Array& x, double rate, const random::Key& key, const Dims& broadcast_dims);

// Computes softmax(query key^T / sqrt(depth)) value for (..., length, heads, depth) arrays. `mask`,
// which may be undefined, is bool and broadcasts to (..., heads, query length, key length): true
// for the keys that a query attends to. With a key there is dropout of the weights, the same for
// all of a batch and its heads if `broadcast_dropout`.
struct AttentionOptions {
  Array mask = {};
  double dropout_rate = 0;
  std::optional<random::Key> dropout_key = std::nullopt;
  bool broadcast_dropout = true;
  OptionalDType dtype = {};
};
Array attention(const Array& query, const Array& key, const Array& value,
                const AttentionOptions& options);

// Returns all axes in [0, rank) except `axis`.
Dims all_axes_but(int64_t axis, int64_t rank);

}  // namespace tessera::nn
