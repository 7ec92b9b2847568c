// The infinity of losses, orders and bounds.
#pragma once

#include <limits>

namespace tessera::privacy {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace tessera::privacy
