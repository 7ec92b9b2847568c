// Convolution, correlation and covariance of vectors, as in jax.numpy.
//
// All functions throw UserError for ranks that they do not take and for empty vectors.
#pragma once

#include <optional>

#include "tessera/ir/array.h"
#include "tessera/numpy/creation.h"

namespace tessera {

// The positions at which results are computed: kFull, all where the vectors overlap; kSame, the
// middle ones, as many as the longer vector has elements; kValid, those where the shorter vector
// overlaps whole.
enum class ConvolveMode : uint8_t { kFull, kSame, kValid };

struct ConvolveOptions {
  ConvolveMode mode = ConvolveMode::kFull;
  OptionalDType preferred_element_type = {};  // dtype of the sums and of the result
};
// Returns the sums over j of a[j] v[k - j]. Integers become floating.
Array convolve(const Array& a, const Array& v, const ConvolveOptions& options = {});
struct CorrelateOptions {
  ConvolveMode mode = ConvolveMode::kValid;
  OptionalDType preferred_element_type = {};
};
// Returns the sums over j of a[j + k] conj(v[j]).
Array correlate(const Array& a, const Array& v, const CorrelateOptions& options = {});

struct CovOptions {
  std::optional<Array> y = std::nullopt;  // further variables, in the layout of m
  bool rowvar = true;                     // a row is a variable; false: a column
  bool bias = false;                      // divides by n instead of n - 1 if ddof is absent
  std::optional<int64_t> ddof = std::nullopt;
  std::optional<Array> fweights = std::nullopt;  // integers: how often each observation counts
  std::optional<Array> aweights = std::nullopt;  // the weight of each observation
};
// Returns the covariances [variables, variables] (a scalar for one variable) of the observations m,
// which are [variables, n] or, for one variable, [n].
Array cov(const Array& m, const CovOptions& options = {});
struct CorrcoefOptions {
  std::optional<Array> y = std::nullopt;
  bool rowvar = true;
};
// Returns correlation coefficients: the covariances divided by the standard deviations of both
// variables.
Array corrcoef(const Array& x, const CorrcoefOptions& options = {});

}  // namespace tessera
