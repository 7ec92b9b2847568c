// jax.lax's functions, in namespace lax: as strict as those, operands of one dtype and of shapes
// that fit, without promotion or broadcasting. What jax.lax shares with jax.numpy (dynamic_slice,
// top_k, cummax, stop_gradient, ...) the namespace tessera has too, with promotion. Factorisations are
// in lax::linalg, as in jax.lax.linalg.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/identity.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/factor/cholesky.h"
#include "tessera/ops/factor/eig.h"
#include "tessera/ops/factor/eigh.h"
#include "tessera/ops/factor/lu.h"
#include "tessera/ops/factor/qr.h"
#include "tessera/ops/factor/reflectors.h"
#include "tessera/ops/factor/schur.h"
#include "tessera/ops/factor/svd.h"
#include "tessera/ops/factor/triangular_solve.h"
#include "tessera/ops/factor/tridiagonal.h"
#include "tessera/ops/fourier/fft.h"
#include "tessera/ops/indexing/gather.h"
#include "tessera/ops/indexing/scatter.h"
#include "tessera/ops/linear/convolution.h"
#include "tessera/ops/linear/dot_general.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/reductions/reduce_window.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/pad.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"
#include "tessera/ops/structural/sort.h"

namespace tessera::lax {

using ArraysFunction = std::function<std::vector<Array>(const std::vector<Array>&)>;
// Folds `dims` of the operands (of one shape) with `computation`: (acc..., x...) -> acc... on
// scalars, elementwise, associative; one initial scalar an operand. UserError where the computation
// uses arrays of outside.
std::vector<Array> reduce(std::span<const Array> operands, std::span<const Array> inits,
                          const ArraysFunction& computation, const Dims& dims);

}  // namespace tessera::lax
