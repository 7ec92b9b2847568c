// The random words that noise is made of, by either RandomSource. For source files.
#pragma once

#include <string_view>

#include "tessera/privacy/noise/random_source.h"
#include "tessera/random/threefry.h"

namespace tessera::privacy::internal {

// Returns a pair of uniform words for each element of the shape. By kKey they are functions of the
// key and of each element's index. By kSystem they are new in each run of the program, which calls
// the host for them: in one process the key counts alone over which manual axes it varies. In
// several they are also a function of the key, so that all make the same, and keys of one program
// differ; they run where there is a SharedNoise (shared_noise.h), which the caller sees to.
random::internal::Words random_words(std::string_view op, RandomSource source,
                                     const random::Key& key, const Shape& shape);

}  // namespace tessera::privacy::internal
