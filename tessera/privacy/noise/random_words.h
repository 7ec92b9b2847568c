// The random words that noise is made of, by either RandomSource. For source files.
#pragma once

#include <string_view>

#include "tessera/privacy/noise/random_source.h"
#include "tessera/random/threefry.h"

namespace tessera::privacy::internal {

// A pair of uniform words for each element of the shape. By kKey they are functions of the key and of
// each element's index. By kSystem they are new in each run of the program, which calls the host for
// them, and of the key it counts alone over which manual axes it varies. UserError naming `op` for kSystem in several processes, which
// would each draw words of their own for what is one array.
random::internal::Words random_words(std::string_view op, RandomSource source,
                                     const random::Key& key, const Shape& shape);

}  // namespace tessera::privacy::internal
