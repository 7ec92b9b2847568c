// Sums of products that are each rounded to a whole number: DotSum::kGrid. The sums are exact, so
// they depend neither on the order nor on the grouping of the examples.
#pragma once

#include "tessera/runtime/products/gemm.h"

namespace tessera::runtime {

// The largest magnitude of a product that is rounded to the nearest whole number (ties to even).
inline constexpr double kLargestOnGrid = 1 << 22;

// Computes c (m x n, rows at distance ldc) = the sum over examples of round(a_e b_e), plus c's old
// content if `accumulate`. a is m x (examples * terms), b is (examples * terms) x n; example e has
// columns [e * terms, (e + 1) * terms) of a, and these rows of b. The result is unspecified for
// products of magnitude above kLargestOnGrid. Sums must fit into int32.
void grid_products(int64_t m, int64_t n, int64_t examples, int64_t terms, MatrixRef a, MatrixRef b,
                   double* c, int64_t ldc, bool accumulate);

}  // namespace tessera::runtime
