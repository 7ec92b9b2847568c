// The discrete Gaussian: P(X = x) proportional to exp(-x^2 / (2 s^2)) over the integers (Canonne,
// Kamath, Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020), and the
// privatizer that adds it on a grid. Floating-point noise takes values from a set that depends on
// the sum to which it is added. This in principle reveals more than the analysis of the Gaussian
// mechanism allows (Mironov, CCS 2012), and float32 normals end at 5.4 standard deviations.
// Integers on a grid have neither defect.
//
// The sampler: the paper's is exact rejection with rational arithmetic, a loop of random length for
// each element, with numbers that exceed a machine word. On arrays such a loop would run as often
// as the unluckiest element needs, with a reduction over all devices in each iteration. Here an
// element takes a fixed number of random bits, so that its streams are sharded like all others:
//   - s <= 1200: the alias method, of 128 bits (discrete_gaussian_table.h): a sign, and a magnitude
//     by one lookup in a table, exact for probabilities that are whole multiples of 2^-127.
//   - larger s: X = c X' + Z with Z of parameter b = 2.5 c from a table and X' of parameter
//     sqrt(s^2 - b^2) / c drawn in the same way. Completing the square,
//     P(X = x) is exp(-x^2 / (2 s^2)) times a sum of a Gaussian over a shifted grid of integers,
//     which by Poisson summation is constant up to a factor 1 +- 2 exp(-2 pi^2 v) with
//     v = 1 / (c^2 / b^2 + c^2 / (s^2 - b^2)) >= 4.68: 1 +- 2^-132.
//
// Each of the at most 3 table lookups of an element has two words. The second matters with
// probability 2^-49, so all draws are first made without it. If one draw needs it, all are made
// again with both words; the other draws stay the same. Whether one needs it is the only number
// that devices communicate. A draw has the stated distribution within 2^-112 in total variation:
// 2^-127 for each magnitude of the tables, of which two have at most 15,960 or three at most 6,400.
// (The parameter itself is s rounded to a double.)
//
// Guarantee. Let a query of integers move by at most D in L2 norm. With independent discrete
// Gaussians of parameter s >= 2 added, it is a post-processed Gaussian mechanism of standard
// deviation sqrt(s^2 - 4), except for a factor 1 +- 2^-111 in the probabilities of each element. To
// see this, let t^2 = s^2 - r^2 and r = 2, and round y = x + N(0, t^2) to an integer k with
// probability proportional to exp(-(k - y)^2 / (2 r^2)). Its normaliser is r sqrt(2 pi) (1 +- 2.1
// exp(-2 pi^2 r^2)) for every y (Poisson summation), so that k - x has the convolution of N(0, t^2)
// and N(0, r^2), at the integers: a discrete Gaussian of parameter s (Peikert, "An efficient and
// parallel Gaussian sampler for lattices", CRYPTO 2010). The rounding reads y alone, as x is an
// integer. So every accountant of the Gaussian mechanism is valid, also for subsampled steps, with
// accounted_stddev() in place of s; docs/privacy_proof.md has the constants. A run of n draws adds
// at most n (1 + e^epsilon) 2^-110 to delta.
#pragma once

#include <cstdint>

#include "tessera/privacy/noise/noise_addition.h"

namespace tessera::privacy {

// Returns int32 draws of parameter `stddev`. Throws UserError unless it is in [1, 2^24].
Array discrete_gaussian(const random::Key& key, double stddev, const Shape& shape = {});

struct DiscreteGaussianOptions {
  Stddev stddev;
  std::optional<random::Key> key = std::nullopt;  // as in NoiseOptions
  // The granularity of the grid is stddev / steps_per_stddev. steps_per_stddev is in [1, 2^24] and
  // part of the program. A finer grid adds less to the sensitivity (rounded_sensitivity) and takes
  // more time: one more table lookup above 1,200 steps, and another above 576,000.
  double steps_per_stddev = 65536;
  OptionalDType dtype = std::nullopt;               // the dtype of the result
  RandomSource random_source = RandomSource::kKey;  // as in NoiseOptions
};

struct DiscreteNoiseState {
  random::Key key;
};

namespace internal {

// Returns draws like those of discrete_gaussian(), made from words of either source, inside a
// program.
Array discrete_draws(RandomSource source, const random::Key& key, double stddev,
                     const Shape& shape);
// Returns the same for several keys and shapes. `ignored_bits` is for tests: the first words are
// compared without so many of their last bits, so that more draws need second words.
std::vector<Array> discrete_draws(RandomSource source, const std::vector<random::Key>& keys,
                                  double stddev, const std::vector<Shape>& shapes,
                                  uint64_t ignored_bits = 0);

struct DiscreteNoise {
  Stddev stddev;
  random::Key key;
  double steps_per_stddev;
  OptionalDType dtype;
  RandomSource source = RandomSource::kKey;

  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.stddev, self.key, self.steps_per_stddev, self.dtype, self.source);
  }
};
DiscreteNoise checked_noise(const DiscreteGaussianOptions& options);
std::pair<std::vector<Array>, random::Key> add_discrete_noise(const DiscreteNoise& noise,
                                                              const std::vector<Array>& gradients,
                                                              const random::Key& key);

struct DiscretePrivatizer {
  DiscreteNoise noise;
  static constexpr bool kNeedsParams = false;

  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.noise);
  }
  template <class P>
  DiscreteNoiseState init(const P&) const {
    return {noise.key};
  }
  template <class P>
  std::pair<P, DiscreteNoiseState> update(const P& gradients, const DiscreteNoiseState& state,
                                          const P*) const {
    auto [noisy, next] = add_discrete_noise(noise, tree::leaves(gradients), state.key);
    return {tree::unflatten(gradients, noisy), {next}};
  }
};

}  // namespace internal

// Leaves of int32 are whole steps of the grid, as in a sum that was clipped with
// ClipOptions::grid_scale: the result is granularity * (leaf + discrete Gaussian of parameter
// steps_per_stddev), where the addition is one of int32, modulo 2^32. (A leaf that is the sum of
// more than 2^31 steps may have wrapped. The result is then a function of the unwrapped sum plus
// noise, and so as private.) Account for it with the sensitivity in steps, and accounted_stddev().
//
// For floating-point leaves the result is granularity * (round(leaf / granularity) + discrete
// Gaussian): the leaf is moved to the nearest point of the grid (ties to even), at most 2^30 steps
// from 0. NaN stays NaN. Account for it with rounded_sensitivity(), not with the sensitivity of the
// gradients. (The rounding errors of the sum itself are not covered: clip to a grid to avoid them.)
//
// The noise has standard deviation stddev. Keys, shards and errors are as for the other privatizers
// (noise_addition.h); steps_per_stddev outside its range is a UserError. The sum is exact in
// integers; its product with the granularity is rounded last, to the result's dtype (the leaf's,
// but at least float32, or `dtype`). That is post-processing.
optim::Transformation<internal::DiscretePrivatizer> discrete_gaussian_privatizer(
    const DiscreteGaussianOptions& options);

// Returns the standard deviation, in steps, of the Gaussian mechanism that is no more private than
// integers with discrete Gaussian noise of parameter `steps` (see above): sqrt(steps^2 - 4), and 0
// up to 2. Throws UserError if `steps` is negative, infinite or NaN.
double accounted_stddev(double steps);

// Returns the L2 sensitivity, over `dimension` elements, after rounding onto the grid: two
// neighbours that differ by at most l2_sensitivity differ by at most l2_sensitivity + granularity *
// sqrt(dimension) once each element has moved by half a step, up or down. The result is rounded up.
// Throws UserError if a number is negative or not finite.
double rounded_sensitivity(double l2_sensitivity, double granularity, int64_t dimension);

}  // namespace tessera::privacy
