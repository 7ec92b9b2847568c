// Vector quantization, with the names of jax.scipy.cluster.vq.
#pragma once

#include <utility>

#include "tessera/ir/array.h"

namespace tessera::scipy::cluster::vq {

// Returns for each observation, a row of [n, features] (or an element of a vector), the index of
// the nearest row of the code book [codes, features] (or vector), in the default integer dtype, and
// its distance. Throws UserError for other ranks, for different numbers of features, and for
// complex numbers.
std::pair<Array, Array> vq(const Array& obs, const Array& code_book);

}  // namespace tessera::scipy::cluster::vq
