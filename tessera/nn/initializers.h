// Initial values of parameters, with the names, defaults and values of jax.nn.initializers: the
// same key results in the same numbers (normals within 3 ulp).
//
//   Array kernel = initializers::he_normal()(random::key(0), {784, 128}, float32);
//
// All throw UserError for dtypes that are not real floating-point ones, and for shapes without the
// axes by which a variance is scaled.
#pragma once

#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>

#include "tessera/random/random.h"

namespace tessera::initializers {

// A function of a key, a shape and a dtype. Without a dtype it is float32 (float64 if x64 is
// enabled). Any callable of these three converts to it.
class Initializer {
 public:
  template <class F>
  requires(!std::same_as<std::remove_cvref_t<F>, Initializer> &&
           std::is_invocable_r_v<Array, const F&, const random::Key&, const Shape&, DType>)
      Initializer(F function)  // NOLINT: converts as std::function does
      : function_(std::move(function)) {}

  Array operator()(const random::Key& key, const Shape& shape,
                   DType dtype = default_float()) const {
    return function_(key, shape, dtype);
  }

 private:
  std::function<Array(const random::Key&, const Shape&, DType)> function_;
};

Initializer zeros();
Initializer ones();
Initializer constant(double value);
Initializer normal(double stddev = 1e-2);
Initializer uniform(double scale = 1e-2);  // [0, scale)
// Draws normal numbers of standard deviation stddev. Numbers beyond lower and upper (before
// scaling) are drawn again.
Initializer truncated_normal(double stddev = 1e-2, double lower = -2, double upper = 2);

enum class Fan : uint8_t { kIn, kOut, kAverage, kGeometric };
enum class Distribution : uint8_t { kTruncatedNormal, kNormal, kUniform };
struct FanAxes {
  int64_t in = -2, out = -1;
  Dims batch = {};
};
// Draws numbers of variance scale / fan. A fan is the extent of the axis `in` or `out` times all
// others except the batch's and the opposite one.
Initializer variance_scaling(double scale, Fan fan, Distribution distribution,
                             const FanAxes& axes = {});

Initializer lecun_normal(const FanAxes& axes = {});
Initializer lecun_uniform(const FanAxes& axes = {});
Initializer glorot_normal(const FanAxes& axes = {});
Initializer glorot_uniform(const FanAxes& axes = {});
Initializer he_normal(const FanAxes& axes = {});
Initializer he_uniform(const FanAxes& axes = {});
// Makes scale times a matrix with orthonormal columns, or orthonormal rows if there are fewer rows:
// `column_axis` enumerates the columns, all other axes the rows. Takes shapes of at least 2
// dimensions, float32 or float64.
Initializer orthogonal(double scale = 1, int64_t column_axis = -1);
// Makes a convolution kernel (spatial..., in, out) with in <= out and 3 to 5 dimensions: an
// orthogonal matrix in its middle, zeros around it.
Initializer delta_orthogonal(double scale = 1, int64_t column_axis = -1);
// Draws normal numbers of variance 1 / features, for embeddings.
Initializer embed_normal();
inline Initializer xavier_normal(const FanAxes& axes = {}) { return glorot_normal(axes); }
inline Initializer xavier_uniform(const FanAxes& axes = {}) { return glorot_uniform(axes); }
inline Initializer kaiming_normal(const FanAxes& axes = {}) { return he_normal(axes); }
inline Initializer kaiming_uniform(const FanAxes& axes = {}) { return he_uniform(axes); }

}  // namespace tessera::initializers
