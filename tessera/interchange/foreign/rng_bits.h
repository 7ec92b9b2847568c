// Computes the random bits that XLA's generators (Philox, ThreeFry) would return, by integer ops.
// Programs ask for them by stablehlo.rng_bit_generator, which is not an op of Tessera's own.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "tessera/base/namespaces.h"
#include "tessera/ir/array.h"

namespace tessera::interchange::foreign {

enum class RngAlgorithm : uint8_t { kDefault, kPhilox, kThreeFry };
inline constexpr std::array<std::string_view, 3> enum_names(RngAlgorithm) {
  return {"DEFAULT", "PHILOX", "THREE_FRY"};
}

// Returns whether a generator has states of this type: uint64[2], or for Philox also uint64[3].
bool takes_state(RngAlgorithm algorithm, const ir::Type& state);
// Returns the next state, and bits of this shape and integer dtype.
std::vector<Array> rng_bits(RngAlgorithm algorithm, const Array& state, const Shape& shape,
                            DType dtype);

}  // namespace tessera::interchange::foreign
