// Tables from which discrete Gaussians are drawn. For source files.
#pragma once

#include <cstdint>
#include <vector>

namespace tessera::privacy::internal {

// A symmetric distribution over integers for the alias method (Walker, "An efficient method for
// generating discrete random variables with general distributions", ACM TOMS 1977): one bit is the
// sign, and for the magnitude there are 2^index_bits cells of equal probability, each with at most
// two magnitudes, so that a draw looks at one cell. The magnitudes' probabilities are whole numbers
// of 2^-127, and draws have exactly these.
//
// Below its threshold, a number of 127 - index_bits bits, cell i has the magnitude i, and from
// there on its alias. words[i] holds the threshold's first 63 - index_bits bits, a bit that is 0
// and, in its last index_bits bits, the alias; words[2^index_bits + i] holds the threshold's other
// 64 bits, which a draw hardly ever needs, so that it reads half of the table.
struct AliasTable {
  int index_bits;  // at most 14
  std::vector<uint64_t> words;
};
// Returns the table of the discrete Gaussian of a parameter in [1, 1210], within 2^-113 in total
// variation. `index_bits` must be at least index_bits(stddev).
AliasTable alias_table(double stddev, int index_bits);
int index_bits(double stddev);

// X is the sum over the levels of scale * (a discrete Gaussian of parameter stddev). There are as
// few levels as tables of 2^14 cells allow, with tables as small as that number of levels allows.
struct Level {
  double stddev;
  int64_t scale;
};
std::vector<Level> levels(double stddev);

}  // namespace tessera::privacy::internal
