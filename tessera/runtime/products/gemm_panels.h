// Products of float32 matrices that fit into a core's cache, on CPUs with AVX-512. A library takes
// longer to begin such a product, and copies more of it.
//
// All rows of a are multiplied by a panel, 32 columns of b (48 at the end). A panel is copied only
// if b's rows are so far apart that they would compete for the same lines of the cache, or if b is
// transposed. As in gemm_small.h, each element of the result is the sum of its k products in order,
// each added with one rounding, so its bits do not depend on how a product is divided.
#pragma once

#include <cstdint>

#include "tessera/runtime/products/gemm.h"

namespace tessera::runtime {

// Computes c = a b as gemm() does, and returns true. Returns false, and leaves c unchanged, if a
// library is faster or if the CPU does not have AVX-512.
bool gemm_panels(int64_t m, int64_t n, int64_t k, const MatrixRef& a, const MatrixRef& b, float* c,
                 int64_t ldc);

// Returns whether gemm_panels computes products of these sizes if the columns of b are adjacent.
// On CPUs without AVX-512 it computes none.
bool fits_panels(int64_t m, int64_t n, int64_t k);

// Computes c = a b for any sizes, with the same bits, and reads each row of b as it is: for few
// rows of a. The columns of b are adjacent.
void gemm_rows(int64_t m, int64_t n, int64_t k, const MatrixRef& a, const MatrixRef& b, float* c,
               int64_t ldc);
// Returns whether this CPU, one with AVX-512, has the code of gemm_rows.
bool has_gemm_rows();

}  // namespace tessera::runtime
