// Arithmetic on whole arrays of the host, one element after the other: what the oracle is made of.
#pragma once

#include <array>
#include <complex>

#include "ops.h"

namespace tessera::generate {

// The block of `shape` that starts at `start`.
Literal block(const Literal& x, const Dims& start, const Shape& shape);
void put_block(const Literal& part, Literal& to, const Dims& start);
// Slice `at` of dimension `dim`, which is gone.
Literal row(const Literal& x, int64_t dim, int64_t at);
// Parts of one shape along a new first dimension; of no parts, by dtype and shape.
Literal stacked(const Literals& parts, DType dtype, Shape shape);
// At least one part.
Literal concatenated(const Literals& parts, int64_t dim);
// Sum (kPsum and the like), kPmean, kPmax or kPmin, element by element.
Literal reduced(const Literals& parts, Collective kind);
// With `change` added to element k; float64 only, others are x.
Literal with_element(const Literal& x, int64_t k, double change);

// a + t * b of arrays of float64 or complex128; others are a.
Literal moved(const Literal& a, double t, const Literal& b);
// Elements as complex numbers, whatever the dtype.
std::vector<std::complex<double>> numbers(const Literal& x);

// The derivative at 0 of a function that is `f` at -2h, -h, 0, h and 2h, by differences of the
// fourth order. `steady` becomes false where it has a kink there or is too steep for them.
double derivative(const std::array<double, 5>& f, double h, bool* steady);
// Of a function whose results are vectors.
std::vector<double> derivative(const std::function<std::vector<double>(double)>& f, bool* steady,
                               double h = 1e-3);

}  // namespace tessera::generate
