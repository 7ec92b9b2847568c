// The random words of which noise is made, from either RandomSource. Only source files include this
// header.
#pragma once

#include <string_view>

#include "tessera/privacy/noise/random_source.h"
#include "tessera/random/threefry.h"

namespace tessera::privacy::internal {

// Returns a pair of uniform words for each element of the shape. With kKey they are functions of
// the key and of each element's index. With kSystem they are new in each run of the program, which
// calls the host for them. Then, in one process, only the manual axes over which the key varies
// matter. In several processes the words are also a function of the key, so that all processes make
// the same words; keys of one program must differ, and the caller must hold a SharedNoise
// (shared_noise.h).
random::internal::Words random_words(std::string_view op, RandomSource source,
                                     const random::Key& key, const Shape& shape);

}  // namespace tessera::privacy::internal
