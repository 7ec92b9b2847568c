// Draws standard normal numbers for noise. float32 numbers of random::normal end at 5.4; these have
// the tails that accounting assumes. Only source files include this header.
//
// A draw is the quantile function at a uniform number of 64 bits: one bit is the sign, and the
// other 63 are the tail probability p = (k + 1/2) / 2^64, 0 <= k < 2^63, as a float64. So both
// tails are the same, and the relative precision of a small p is that of any other. Draws reach
// 9.07 standard deviations, and the tails beyond have a probability of 2^-64 together.
//
// The first 23 bits are those that random::normal of float32 takes from the same key and index, so
// a draw differs from that number (which is JAX's) by the width of a cell: by at most 2^-22 in the
// uniform number, which is 3e-7 in draws near 0.
#pragma once

#include "tessera/random/threefry.h"

namespace tessera::privacy::internal {

// Returns float64 numbers of the words' shape, each a function of a pair of words.
Array normal_of_words(const random::internal::Words& words);

// Returns -quantile(p) for tail probabilities p = k / 2^64 in (0, 1/2], as float64: the number of
// standard deviations that a normal number exceeds with probability p. The relative error is within
// 1e-11 for k >= 1/2.
Array normal_tail_quantile(const Array& k);

}  // namespace tessera::privacy::internal
