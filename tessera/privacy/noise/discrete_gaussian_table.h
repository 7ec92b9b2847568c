// Tables by which discrete Gaussians are drawn. For source files.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace tessera::privacy::internal {

// A distribution over integers for the alias method (Walker, "An efficient method for generating
// discrete random variables with general distributions", ACM TOMS 1977): 4096 cells of equal
// probability hold at most two integers each, so that a draw is one look at one cell. Probabilities
// are whole numbers of 2^-128, and the draws have exactly these.
//
// Cell i has the integer first + i below its threshold, a number of 116 bits, and first + alias from
// there on. high[i] holds the threshold's first 52 bits and, in its last 12 bits, the alias; low[i]
// the other 64 bits.
struct AliasTable {
  static constexpr int kIndexBits = 12;
  static constexpr size_t kCells = size_t{1} << kIndexBits;
  std::vector<uint64_t> high, low;
  int64_t first;
};
// The table of the discrete Gaussian of a parameter in [1, 150], within 2^-115 in total variation.
AliasTable alias_table(double stddev);

// X = the sum over the levels of scale * (a discrete Gaussian of parameter stddev).
struct Level {
  double stddev;
  int64_t scale;
};
std::vector<Level> levels(double stddev);

}  // namespace tessera::privacy::internal
