// Tables by which discrete Gaussians are drawn. For source files.
#pragma once

#include <cstdint>
#include <vector>

namespace tessera::privacy::internal {

// A distribution over integers for the alias method (Walker, "An efficient method for generating
// discrete random variables with general distributions", ACM TOMS 1977): 2^index_bits cells of equal
// probability hold at most two integers each, so that a draw is one look at one cell. Probabilities
// are whole numbers of 2^-128, and the draws have exactly these.
//
// Cell i has the integer first + i below its threshold, a number of 128 - index_bits bits, and first +
// alias from there on. words[2 i] holds the threshold's first 64 - index_bits bits and, in its last
// index_bits bits, the alias; words[2 i + 1] the threshold's other 64 bits.
struct AliasTable {
  int index_bits;  // 14 at most
  int64_t first;
  std::vector<uint64_t> words;
};
// The table of the discrete Gaussian of a parameter in [1, 610], within 2^-114 in total variation.
// `index_bits`: as many as index_bits(stddev) or more.
AliasTable alias_table(double stddev, int index_bits);
int index_bits(double stddev);

// X = the sum over the levels of scale * (a discrete Gaussian of parameter stddev): as few levels as
// tables of 2^14 cells allow, and with these as small tables as they allow.
struct Level {
  double stddev;
  int64_t scale;
};
std::vector<Level> levels(double stddev);

}  // namespace tessera::privacy::internal
