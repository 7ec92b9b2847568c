#include "growth.h"

#include <algorithm>
#include <cmath>

namespace tessera::costs {

double excess_exponent(const Series& cost, const Series& work) {
  const double cost1 = cost[1] - cost[0], cost2 = cost[2] - cost[1];
  const double work1 = work[1] - work[0], work2 = work[2] - work[1];
  if (cost2 <= 0) return 0;
  // If the work does not grow, the cost may not grow either: the exponent is that of the cost
  // itself.
  const bool grows = work1 > 0 && work2 > 0;
  if (!grows) return std::max(0.0, std::log2(cost[2] / std::max(cost[0], 1.0)) / 2);
  // The cost of a unit of work in the first step or, if the first step adds no cost, the average
  // cost.
  const double before = cost1 > 0 ? cost1 / work1 : std::max(cost[1], 1.0) / work[1];
  return std::max(0.0, std::log2(cost2 / work2 / before));
}

double excess_of_lumps(const Series& cost, const Series& work) {
  constexpr double kLittle = 0.05;
  if (cost[2] - cost[1] < kLittle * cost[1]) return 0;
  const double excess = excess_exponent(cost, work);
  if (excess == 0 || work[1] <= work[0] || work[2] <= work[1]) return excess;
  const double average = cost[1] / work[1];
  return std::min(excess,
                  std::max(0.0, std::log2((cost[2] - cost[1]) / (work[2] - work[1]) / average)));
}

}  // namespace tessera::costs
