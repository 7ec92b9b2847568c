// Tables of the tails of discrete Gaussians. For source files.
#pragma once

#include <cstdint>
#include <vector>

namespace tessera::privacy::internal {

// P(|X| >= k) of the discrete Gaussian, rounded down to a multiple of 2^-127: its first 64 bits, and
// the 63 after them. Entry 0 is not used; those beyond the last that is not 0 are 0, up to a power of
// two.
struct TailTable {
  std::vector<uint64_t> high, low;
};
TailTable tail_table(double stddev);

// X = the sum over the levels of scale * (a discrete Gaussian of parameter stddev).
struct Level {
  double stddev;
  int64_t scale;
};
std::vector<Level> levels(double stddev);

}  // namespace tessera::privacy::internal
