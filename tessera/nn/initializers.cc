#include "tessera/nn/initializers.h"

#include <cmath>

#include "tessera/ir/format.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/pad.h"

namespace tessera::initializers {

namespace {

void check_dtype(const char* name, DType dtype) {
  if (!is_floating(dtype))
    type_error(name,
               "expected a real floating-point dtype, got {}; make the parts of a complex "
               "parameter one by one",
               dtype);
}

// Numbers that are not known to be exact in the dtype are rounded to it before they are used.
Array rounded(double value, DType dtype) { return full(Shape{}, value, dtype); }

}  // namespace

Initializer zeros() { return constant(0); }
Initializer ones() { return constant(1); }
Initializer constant(double value) {
  return [=](const random::Key&, const Shape& shape, DType dtype) {
    return full(shape, value, dtype);
  };
}

Initializer normal(double stddev) {
  return [=](const random::Key& key, const Shape& shape, DType dtype) {
    check_dtype("initializers::normal", dtype);
    return random::normal(key, shape, dtype) * rounded(stddev, dtype);
  };
}

Initializer uniform(double scale) {
  return [=](const random::Key& key, const Shape& shape, DType dtype) {
    check_dtype("initializers::uniform", dtype);
    return random::uniform(key, shape, dtype) * rounded(scale, dtype);
  };
}

Initializer truncated_normal(double stddev, double lower, double upper) {
  return [=](const random::Key& key, const Shape& shape, DType dtype) {
    check_dtype("initializers::truncated_normal", dtype);
    return random::truncated_normal(key, lower, upper, shape, dtype) * rounded(stddev, dtype);
  };
}

Initializer variance_scaling(double scale, Fan fan, Distribution distribution,
                             const FanAxes& axes) {
  return [=](const random::Key& key, const Shape& shape, DType dtype) -> Array {
    const char* name = "initializers::variance_scaling";
    check_dtype(name, dtype);
    if (shape.rank() < 2 && axes.in == -2)
      shape_error(name,
                  "expected a shape of at least 2 dimensions, got {}; name the axes of the "
                  "fans, or take another initializer",
                  shape);
    const double in = static_cast<double>(shape[normalize_axis(name, axes.in, shape.rank())]);
    const double out = static_cast<double>(shape[normalize_axis(name, axes.out, shape.rank())]);
    double field = 1;
    for (int64_t d : shape) field *= static_cast<double>(d);
    field = field / in / out;
    for (int64_t axis : axes.batch)
      field /= static_cast<double>(shape[normalize_axis(name, axis, shape.rank())]);
    const double fan_in = in * field, fan_out = out * field;
    double denominator = 0;
    switch (fan) {
      case Fan::kIn:
        denominator = fan_in;
        break;
      case Fan::kOut:
        denominator = fan_out;
        break;
      case Fan::kAverage:
        denominator = (fan_in + fan_out) / 2;
        break;
      case Fan::kGeometric:
        denominator = std::sqrt(fan_in * fan_out);
        break;
    }
    if (shape.elements() == 0) return tessera::zeros(shape, dtype);
    // This is not one program: half-precision numbers are rounded after each step, as JAX rounds
    // them.
    const Array variance = rounded(scale / denominator, dtype);
    switch (distribution) {
      case Distribution::kTruncatedNormal:
        // This is the standard deviation of the standard normal distribution restricted to (-2, 2).
        return random::truncated_normal(key, -2, 2, shape, dtype) *
               (sqrt(variance) / rounded(.87962566103423978, dtype));
      case Distribution::kNormal:
        return random::normal(key, shape, dtype) * sqrt(variance);
      case Distribution::kUniform:
        return random::uniform(key, shape, dtype, -1) * sqrt(3 * variance);
    }
    TESSERA_CHECK(false);
  };
}

Initializer orthogonal(double scale, int64_t column_axis) {
  return [=](const random::Key& key, const Shape& shape, DType dtype) -> Array {
    const char* name = "initializers::orthogonal";
    check_dtype(name, dtype);
    if (shape.rank() < 2)
      shape_error(name, "expected a shape of at least 2 dimensions, got {}", shape);
    const int64_t axis = normalize_axis(name, column_axis, shape.rank());
    if (shape.elements() == 0) return tessera::zeros(shape, dtype);
    const int64_t columns = shape[axis];
    const Array q = random::orthogonal(key, shape.elements() / columns, {}, dtype, columns);
    Shape rows_first = shape;
    rows_first.erase(rows_first.begin() + axis);
    rows_first.push_back(columns);
    return rounded(scale, dtype) * moveaxis(reshape(q, rows_first), -1, axis);
  };
}

Initializer delta_orthogonal(double scale, int64_t column_axis) {
  return [=](const random::Key& key, const Shape& shape, DType dtype) -> Array {
    const char* name = "initializers::delta_orthogonal";
    check_dtype(name, dtype);
    if (shape.rank() < 3 || shape.rank() > 5)
      shape_error(name, "expected a kernel of 3 to 5 dimensions, got {}", shape);
    const int64_t in = shape[shape.rank() - 2], out = shape[shape.rank() - 1];
    if (in > out)
      shape_error(name, "expected no more inputs than outputs, got a kernel of shape {}", shape);
    std::vector<std::pair<int64_t, int64_t>> around;
    Shape middle;
    for (int64_t d = 0; d + 2 < shape.rank(); ++d) {
      around.emplace_back((shape[d] - 1) / 2, shape[d] / 2);
      middle.push_back(1);
    }
    around.insert(around.end(), 2, {0, 0});
    middle.push_back(in);
    middle.push_back(out);
    if (shape.elements() == 0) return tessera::zeros(shape, dtype);
    return pad(reshape(orthogonal(scale, column_axis)(key, {in, out}, dtype), middle), around);
  };
}

Initializer embed_normal() {
  return variance_scaling(1, Fan::kIn, Distribution::kNormal, {.out = 0});
}
Initializer lecun_normal(const FanAxes& axes) {
  return variance_scaling(1, Fan::kIn, Distribution::kTruncatedNormal, axes);
}
Initializer lecun_uniform(const FanAxes& axes) {
  return variance_scaling(1, Fan::kIn, Distribution::kUniform, axes);
}
Initializer glorot_normal(const FanAxes& axes) {
  return variance_scaling(1, Fan::kAverage, Distribution::kTruncatedNormal, axes);
}
Initializer glorot_uniform(const FanAxes& axes) {
  return variance_scaling(1, Fan::kAverage, Distribution::kUniform, axes);
}
Initializer he_normal(const FanAxes& axes) {
  return variance_scaling(2, Fan::kIn, Distribution::kTruncatedNormal, axes);
}
Initializer he_uniform(const FanAxes& axes) {
  return variance_scaling(2, Fan::kIn, Distribution::kUniform, axes);
}

}  // namespace tessera::initializers
