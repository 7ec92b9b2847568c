// What the samplers of random/ share: uniform and normal numbers of words that are known already,
// within another program. For source files of random/.
//
// `key` may be the words of an array of keys: then `shape` is {} and every key gives one number, as
// a map over the keys would.
#pragma once

#include <optional>
#include <span>

#include "tessera/numpy/creation.h"
#include "tessera/random/threefry.h"

namespace tessera::random::internal {

// Of most samplers: what determines the program beside the types of its arguments.
struct SampleParams {
  Shape shape;
  DType dtype = float32;
};

// `dtype`, by default float32 (float64 where x64 is enabled). UserError unless it is
// floating-point.
DType floating(std::string_view op, OptionalDType dtype);
// UserError for a negative extent.
void check_shape(std::string_view op, const Shape& shape);
// `shape`, or where there is none what the parameters' shapes broadcast to. UserError where they do
// not broadcast to it.
Shape sample_shape(std::string_view op, const std::optional<Shape>& shape,
                   std::initializer_list<Shape> parameters);
// A parameter as `dtype`, repeated to `shape`. UserError for a complex one.
Array sample_parameter(std::string_view op, const Array& x, const Shape& shape, DType dtype);

DType uint_of_bits(int bits);
// An integer constant, exact in every dtype.
Array constant_like(const Array& x, uint64_t value);
// x as its dtype has it. Kernels keep float16 and bfloat16 in float32 between ops, which is more
// exact than what JAX's streams are made of; converting rounds.
Array rounded(const Array& x);

// In [0, 1): a random mantissa under the exponent of 1, less 1.
Array unit_uniform(const Words& key, const Shape& shape, DType dtype);
// In [low, high), two arrays of the result's shape, or numbers.
Array scaled_uniform(const Words& key, const Shape& shape, const Array& low, const Array& high);
Array scaled_uniform(const Words& key, const Shape& shape, DType dtype, double low, double high);
// Mean 0, variance 1, of a floating-point dtype.
Array real_normal(const Words& key, const Shape& shape, DType dtype);

}  // namespace tessera::random::internal
