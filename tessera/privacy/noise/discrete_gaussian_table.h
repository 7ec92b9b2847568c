// Tables by which discrete Gaussians are drawn. For source files.
#pragma once

#include <cstdint>
#include <vector>

namespace tessera::privacy::internal {

// A symmetric distribution over integers for the alias method (Walker, "An efficient method for
// generating discrete random variables with general distributions", ACM TOMS 1977): one bit is the sign,
// and of the magnitudes 2^index_bits cells of equal probability hold at most two each, so that a draw is
// one look at one cell. The magnitudes' probabilities are whole numbers of 2^-127, and the draws have
// exactly these.
//
// Cell i has the magnitude i below its threshold, a number of 127 - index_bits bits, and the alias from
// there on. words[i] holds the threshold's first 63 - index_bits bits, a bit that is 0 and, in its last
// index_bits bits, the alias; words[2^index_bits + i] the threshold's other 64 bits, which a draw hardly
// ever needs: what it reads of a table is half of it.
struct AliasTable {
  int index_bits;  // 14 at most
  std::vector<uint64_t> words;
};
// The table of the discrete Gaussian of a parameter in [1, 1210], within 2^-113 in total variation.
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
