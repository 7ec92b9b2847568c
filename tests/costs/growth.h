// How a cost grows with the size of a program, next to the work that the program asks for.
#pragma once

#include <array>

namespace tessera::costs {

// The values at sizes n, 2n and 4n.
using Series = std::array<double, 3>;

// A larger exponent of growth beyond the work is a failure.
inline constexpr double kMostExcess = 0.05;

// Returns the exponent by which `cost` grows beyond `work` from n to 4n, at least 0. It compares
// the increments from size to size, so that constant parts of cost or work neither hide nor imitate
// growth.
//
// For example, cost 3n + 100 has the excess 0 for work 5n + 7, and cost n * n has about 1 for work
// n.
double excess_exponent(const Series& cost, const Series& work);

// Returns the same for a cost that grows in lumps, like a table that doubles when it is full: a
// small increment relative to the whole cost is ignored.
double excess_of_lumps(const Series& cost, const Series& work);

}  // namespace tessera::costs
