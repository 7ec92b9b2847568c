// Vector quantization, with the names of jax.scipy.cluster.vq.
#pragma once

#include <utility>

#include "tessera/ir/array.h"

namespace tessera::scipy::cluster::vq {

// Of each observation, a row of [n, features] (or an element of a vector), the row of the code book
// [codes, features] (or a vector) that is nearest, default integers, and its distance. UserError for other
// ranks, numbers of features and for complex numbers.
std::pair<Array, Array> vq(const Array& obs, const Array& code_book);

}  // namespace tessera::scipy::cluster::vq
