// Arithmetic on whole arrays of the host, one element after the other. The oracle uses it.
#pragma once

#include <array>
#include <complex>

#include "ops.h"

namespace tessera::generate {

// Returns the block of `shape` that starts at `start`; put_block writes one.
Literal block(const Literal& x, const Dims& start, const Shape& shape);
void put_block(const Literal& part, Literal& to, const Dims& start);
// Returns slice `at` of dimension `dim`, without this dimension.
Literal row(const Literal& x, int64_t dim, int64_t at);
// Returns the parts, which have this dtype and shape, along a new first dimension. There may be no
// parts.
Literal stacked(const Literals& parts, DType dtype, Shape shape);
// Returns the parts one after the other along `dim`. There must be at least one.
Literal concatenated(const Literals& parts, int64_t dim);
// Returns the sum (for kPsum and similar ones), the mean, the maximum or the minimum of the parts,
// element by element.
Literal reduced(const Literals& parts, Collective kind);
// Returns x with `change` added to element k. Dtypes other than float64 are returned unchanged.
Literal with_element(const Literal& x, int64_t k, double change);

// Returns a + t * b for float64 or complex128, and a for other dtypes.
Literal moved(const Literal& a, double t, const Literal& b);
// Returns the elements as complex numbers, for any dtype.
std::vector<std::complex<double>> numbers(const Literal& x);

// Returns the derivative at 0 of a function with the values `f` at -2h, -h, 0, h and 2h, by
// differences of the fourth order. Sets `steady` to false if the function has a kink there or is
// too steep.
double derivative(const std::array<double, 5>& f, double h, bool* steady);
// Returns the same for a function with vectors as results.
std::vector<double> derivative(const std::function<std::vector<double>(double)>& f, bool* steady,
                               double h = 1e-3);

}  // namespace tessera::generate
