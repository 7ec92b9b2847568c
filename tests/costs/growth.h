// How a cost grows with the size of a program, next to the work that the program asks for.
#pragma once

#include <array>

namespace tessera::costs {

// At sizes n, 2n and 4n.
using Series = std::array<double, 3>;

// Growth beyond the work by more than this is a failure.
inline constexpr double kMostExcess = 0.05;

// Returns the exponent by which `cost` grows beyond `work` from n to 4n, at least 0. What matters is
// what is added from size to size, so that constant parts of either do not hide or feign growth.
//
// For example: cost 3n + 100 of work 5n + 7 has the excess 0, cost n * n of work n has about 1.
double excess_exponent(const Series& cost, const Series& work);

// Returns the same for a cost that grows in lumps, as tables do that double when they are full: a
// step that adds little, next to what there is, tells nothing.
double excess_of_lumps(const Series& cost, const Series& work);

}  // namespace tessera::costs
