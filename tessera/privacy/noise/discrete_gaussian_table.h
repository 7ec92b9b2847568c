// Tables from which discrete Gaussians are drawn. Only source files include this header.
#pragma once

#include <cstdint>
#include <vector>

namespace tessera::privacy::internal {

// A symmetric distribution over integers for the alias method (Walker, "An efficient method for
// generating discrete random variables with general distributions", ACM TOMS 1977): one bit is the
// sign. The magnitude is looked up in one of 2^index_bits cells of equal probability, each with at
// most two magnitudes. The probabilities of magnitudes are whole multiples of 2^-127, and draws
// have exactly these.
//
// The other random bits are compared with the threshold of cell i, a number of 127 - index_bits
// bits: below it the magnitude is i, otherwise it is the alias of the cell. words[i] holds the
// threshold's first 63 - index_bits bits, a bit that is 0 and, in its last index_bits bits, the
// alias. words[2^index_bits + i] holds the threshold's other 64 bits. A draw hardly ever needs
// these, so it reads half of the table.
struct AliasTable {
  int index_bits;  // at most 14
  std::vector<uint64_t> words;
};
// Returns the table of the discrete Gaussian of a parameter in [1, 1210], within 2^-113 in total
// variation. `index_bits` must be at least index_bits(stddev).
AliasTable alias_table(double stddev, int index_bits);
int index_bits(double stddev);

// A level of a sampler: X is the sum over the levels of scale * (a discrete Gaussian of parameter
// stddev). The number of levels is the least for which tables have at most 2^14 cells; the tables
// are as small as possible for that number.
struct Level {
  double stddev;
  int64_t scale;
};
std::vector<Level> levels(double stddev);

}  // namespace tessera::privacy::internal
