// The random words of which noise is made, from either RandomSource. For source files.
#pragma once

#include <string_view>

#include "tessera/privacy/noise/random_source.h"
#include "tessera/random/threefry.h"

namespace tessera::privacy::internal {

// Returns a pair of uniform words for each element of the shape. With kKey they are functions of
// the key and of each element's index. With kSystem they are new in each run of the program, which
// calls the host for them. In one process the key then matters only by the manual axes over which
// it varies; in several the words are also a function of the key, so that all processes make the
// same words, and keys of one program differ. There they need a SharedNoise (shared_noise.h), which
// the caller provides.
random::internal::Words random_words(std::string_view op, RandomSource source,
                                     const random::Key& key, const Shape& shape);

}  // namespace tessera::privacy::internal
