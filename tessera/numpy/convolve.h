// Convolution, correlation and covariance of vectors, as in jax.numpy.
//
// Errors, of all: UserError for ranks that a function does not take and for empty vectors.
#pragma once

#include <optional>

#include "tessera/ir/array.h"
#include "tessera/numpy/creation.h"

namespace tessera {

// Which part of the sums over overlaps: all where the vectors touch; the middle ones, as many as the
// longer vector has elements; those where they overlap whole.
enum class ConvolveMode : uint8_t { kFull, kSame, kValid };

struct ConvolveOptions {
  ConvolveMode mode = ConvolveMode::kFull;
  OptionalDType preferred_element_type = {};  // of the sums and the result
};
// The sums over j of a[j] v[k - j]. Integers become floating.
Array convolve(const Array& a, const Array& v, const ConvolveOptions& options = {});
struct CorrelateOptions {
  ConvolveMode mode = ConvolveMode::kValid;
  OptionalDType preferred_element_type = {};
};
// The sums over j of a[j + k] conj(v[j]).
Array correlate(const Array& a, const Array& v, const CorrelateOptions& options = {});

struct CovOptions {
  std::optional<Array> y = std::nullopt;  // further variables, of m's form
  bool rowvar = true;                     // a row is a variable; false: a column
  bool bias = false;                      // divides by n instead of n - 1 where ddof is absent
  std::optional<int64_t> ddof = std::nullopt;
  std::optional<Array> fweights = std::nullopt;  // how often each observation counts: integers
  std::optional<Array> aweights = std::nullopt;  // its weight
};
// The covariances of variables, [variables, variables] (a scalar for one variable), of observations
// m: [variables, n] or, for one variable, [n].
Array cov(const Array& m, const CovOptions& options = {});
struct CorrcoefOptions {
  std::optional<Array> y = std::nullopt;
  bool rowvar = true;
};
// The correlation coefficients of variables: covariances over the standard deviations.
Array corrcoef(const Array& x, const CorrcoefOptions& options = {});

}  // namespace tessera
