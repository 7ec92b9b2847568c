// The arithmetic of the layers that linen and nnx share: functions of arrays, without parameters of
// their own. As in flax, they compute in the common inexact dtype of inputs and parameters, or in
// `dtype` if one is given.
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
// Contracts the last `axes` dimensions of x with the first dimensions of the kernel. Its other
// dimensions are the features.
Array dense_general(const Array& x, const Array& kernel, const Array& bias, int64_t axes,
                    OptionalDType dtype);

// Returns rows of a table (rows, features) at integer indices. Negative ones count from the end.
// Rows for indices outside are NaN, so that a wrong token is noticed. If the table has one row,
// every token gets it.
Array embed(const Array& tokens, const Array& table, OptionalDType dtype);
// Returns x @ table^T: a score for each row.
Array attend(const Array& x, const Array& table, OptionalDType dtype);

// Mean and variance over the axes, computed in float32 or wider as E[x^2] - E[x]^2 and never
// negative. With the name of a mesh axis or of a vmap's axis they are over all its members.
struct Moments {
  Array mean, variance;
};
Moments moments(const Array& x, const Dims& axes, const std::string& axis_name);
// Throws UserError for a layer that computes statistics over a batch, if it is traced in a function
// of one example whose gradient is clipped (privacy/clipping/clipped_grad.h).
void expect_batch(const char* op);
// Computes (x - mean) / sqrt(variance + epsilon) * scale + bias. `mean` and `variance` do not have
// the axes `reduced`. Scale and bias, which may be undefined, are vectors along `feature_axis`.
struct NormalizeOptions {
  Dims reduced;
  int64_t feature_axis;
  double epsilon;
  OptionalDType dtype;
};
Array normalize(const Array& x, const Moments& moments, const Array& scale, const Array& bias,
                const NormalizeOptions& options);

// Returns the number of groups of features: `num_groups`, or the number of groups of `group_size`
// features each. Exactly one of both is given. Throws UserError naming `op` if they do not divide
// the features.
int64_t groups_of(const char* op, int64_t features, std::optional<int64_t> num_groups,
                  std::optional<int64_t> group_size);
// Normalises over `reduction_axes`, the last of which is the features' axis, within each of
// num_groups equal groups of features. Without axes, these are all except the first.
struct GroupNormOptions {
  int64_t num_groups;
  Dims reduction_axes;
  double epsilon;
  std::string axis_name;
  OptionalDType dtype;
};
Array group_norm(const char* op, const Array& x, const Array& scale, const Array& bias,
                 const GroupNormOptions& options);

// Returns x with each element kept with probability 1 - rate and divided by it, otherwise 0. Along
// `broadcast_dims` all elements are kept or dropped together. Throws UserError for a rate outside
// [0, 1].
Array dropout(const Array& x, double rate, const random::Key& key, const Dims& broadcast_dims);

// Computes softmax(query key^T / sqrt(depth)) value for (..., length, heads, depth) arrays. `mask`,
// which may be undefined, is bool and broadcasts to (..., heads, query length, key length): true
// for the keys that a query attends to. With a dropout key, weights are dropped; with
// `broadcast_dropout` the same ones for all of a batch and its heads.
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
