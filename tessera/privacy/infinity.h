// Infinity as losses, orders and bounds of privacy use it.
#pragma once

#include <limits>

namespace tessera::privacy {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace tessera::privacy
