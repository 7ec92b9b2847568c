// Sums of windows that slide over a line: a convolution of one dimension with one feature, such as
// the filter of a signal. As a matrix product it would have a single column, and each element of
// the line would be copied once for each element of the filter.
#pragma once

#include <cstdint>

#include "tessera/base/namespaces.h"

namespace tessera::runtime {

// Computes out[j] = the sum over t < taps of filter[t] * line[j + t * distance], for j < n. A sum
// is in order; if the CPU has AVX2, each product is added with one rounding.
void sliding_sums(const double* line, int64_t n, const double* filter, int64_t taps,
                  int64_t distance, double* out);

}  // namespace tessera::runtime
