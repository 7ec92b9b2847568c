// Functions that the samplers of random/ share: uniform and normal numbers from words of keys, for
// use within another composite. Only source files of random/ include this header.
//
// `key` may be the words of an array of keys. Then `shape` is {} and every key gives one number, as
// if the function were mapped over the keys.
#pragma once

#include <optional>
#include <span>

#include "tessera/numpy/creation.h"
#include "tessera/random/threefry.h"

namespace tessera::random::internal {

// The params of most samplers, which determine the program together with the types of its
// arguments.
struct SampleParams {
  Shape shape;
  DType dtype = float32;
};

// Returns `dtype`, by default float32 (float64 if x64 is enabled). Throws UserError unless it is
// floating-point.
DType floating(std::string_view op, OptionalDType dtype);
// Throws UserError for a negative extent.
void check_shape(std::string_view op, const Shape& shape);
// Returns `shape`, or without one the shape to which the parameters' shapes broadcast. Throws
// UserError if they do not broadcast to it.
Shape sample_shape(std::string_view op, const OrNone<Shape>& shape,
                   std::initializer_list<Shape> parameters);
// Returns a parameter as `dtype`, repeated to `shape`. Throws UserError for a complex one.
Array sample_parameter(std::string_view op, const Array& x, const Shape& shape, DType dtype);

DType uint_of_bits(int bits);
// Returns an integer constant, exact in every dtype.
Array constant_like(const Array& x, uint64_t value);
// Returns x rounded to its dtype. Kernels keep float16 and bfloat16 values in float32 between ops,
// which is more exact than the operations of JAX's streams; a conversion rounds them.
Array rounded(const Array& x);

// Returns numbers in [0, 1): a random mantissa with the exponent of 1, minus 1.
Array unit_uniform(const Words& key, const Shape& shape, DType dtype);
// Return numbers in [low, high), which are arrays of the result's shape, or numbers.
Array scaled_uniform(const Words& key, const Shape& shape, const Array& low, const Array& high);
Array scaled_uniform(const Words& key, const Shape& shape, DType dtype, double low, double high);
// Returns numbers of mean 0 and variance 1 in a floating-point dtype.
Array real_normal(const Words& key, const Shape& shape, DType dtype);

}  // namespace tessera::random::internal
