// jax.lax's functions, in namespace lax. As in jax.lax, operands must have one dtype and shapes
// that fit; nothing is promoted or broadcast. Functions that jax.lax shares with jax.numpy
// (dynamic_slice, top_k, cummax, stop_gradient, ...) are in namespace tessera too, with promotion.
// Factorisations are in lax::linalg, as in jax.lax.linalg.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/identity.h"
#include "tessera/ops/core/reduce_precision.h"
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
#include "tessera/ops/reductions/associative_scan.h"
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
// Returns the operands, of one shape, folded over `dims` with `computation`: (acc..., x...) ->
// acc..., a function of scalars that is elementwise and associative. There is one initial scalar
// for each operand. Throws UserError if the computation captures arrays.
std::vector<Array> reduce(std::span<const Array> operands, std::span<const Array> inits,
                          const ArraysFunction& computation, const Dims& dims);

}  // namespace tessera::lax
